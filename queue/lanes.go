package queue

import (
	"fmt"
	"strings"
)

// Lane is a part of the users of an event, such as members, whose turns may come
// before those of others: see Config.Lanes.
type Lane struct {
	Name string // 1 to 32 letters, digits, - and _
	// Share is the part of all turns that the lane takes at most, above 0. The shares of
	// all lanes are below 0.75 together: that of returners is a quarter, and the rest is
	// the line's.
	Share float64
}

// MaxLanes bounds the lanes of a room.
const MaxLanes = 8

// ReturnersShare is the part of all turns that returners take at most: see Config.Keep.
const ReturnersShare = 0.25

const (
	maxLaneName  = 32
	laneAlphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
)

func checkLanes(lanes []Lane) error {
	if len(lanes) > MaxLanes {
		return fmt.Errorf("queue: Config.Lanes has %d lanes; give at most %d", len(lanes), MaxLanes)
	}
	sum := 0.0
	for i, lane := range lanes {
		switch {
		case lane.Name == "" || len(lane.Name) > maxLaneName || strings.Trim(lane.Name, laneAlphabet) != "":
			return fmt.Errorf("queue: Config.Lanes[%d].Name is %q; give 1 to %d letters, digits, - and _", i, lane.Name, maxLaneName)
		case LaneOf(lanes[:i], lane.Name) > 0:
			return fmt.Errorf("queue: Config.Lanes has %q twice; give each lane a name of its own", lane.Name)
		case !(lane.Share > 0):
			return fmt.Errorf("queue: Config.Lanes[%d].Share is %g; give more than 0", i, lane.Share)
		}
		sum += lane.Share
	}
	if sum >= 1-ReturnersShare {
		return fmt.Errorf("queue: the shares of Config.Lanes are %g together; give less than %g, so that some turns are left for the line", sum, 1-ReturnersShare)
	}
	return nil
}

// turnsEach is how many turns come for one of a returner.
const turnsEach = 4

// turnOf is which of the next turns is that of a position: those of returners come between
// those of the line.
func (s *State) turnOf(o Outcome, position int) int {
	line := s.Waiting - s.Returning
	switch {
	case o.Turn:
		return position
	case o.Returner:
		return position + min(line, (turnsEach-1)*position)
	}
	return position + min(s.Returning, position/(turnsEach-1))
}

// slower is how many times longer than others the users of the line wait, if all lanes take
// their shares.
func slower(lanes []Lane) float64 {
	rest := 1.0
	for _, lane := range lanes {
		rest -= lane.Share
	}
	return 1 / rest
}

// LaneOf is the number of a lane, from 1; zero when there is none of the name.
func LaneOf(lanes []Lane, name string) int {
	for i := range lanes {
		if lanes[i].Name == name {
			return i + 1
		}
	}
	return 0
}
