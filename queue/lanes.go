package queue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/queue/driver"
)

// returnersShare is the part of all turns that returners take at most: see Config.Keep.
const returnersShare = 0.25

const (
	maxLaneName  = 32
	laneAlphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
)

func checkLanes(lanes []Lane) error {
	if len(lanes) > driver.MaxLanes {
		return fmt.Errorf("queue: Config.Lanes has %d lanes; give at most %d", len(lanes), driver.MaxLanes)
	}
	sum := 0.0
	for i, lane := range lanes {
		switch {
		case lane.Name == "" || len(lane.Name) > maxLaneName || strings.Trim(lane.Name, laneAlphabet) != "":
			return fmt.Errorf("queue: Config.Lanes[%d].Name is %q; give 1 to %d letters, digits, - and _", i, lane.Name, maxLaneName)
		case hasLane(lanes[:i], lane.Name):
			return fmt.Errorf("queue: Config.Lanes has %q twice; give each lane a name of its own", lane.Name)
		case !(lane.Share > 0):
			return fmt.Errorf("queue: Config.Lanes[%d].Share is %g; give more than 0", i, lane.Share)
		}
		sum += lane.Share
	}
	if sum >= 1-returnersShare {
		return fmt.Errorf("queue: the shares of Config.Lanes are %g together; give less than %g, so that some turns are left for the line", sum, 1-returnersShare)
	}
	return nil
}

// checkShares checks shares that an operator sets.
func checkShares(lanes []Lane, shares map[string]float64) error {
	for name, share := range shares {
		if !hasLane(lanes, name) {
			return invalid("there is no lane %.40q in Config.Lanes", name)
		}
		if !(share >= 0) {
			return invalid("the share of the lane %s is %g; give 0 or more", name, share)
		}
	}
	sum := 0.0
	for _, lane := range lanes {
		share, set := shares[lane.Name]
		if !set {
			share = lane.Share
		}
		sum += share
	}
	if sum >= 1-returnersShare {
		return invalid("the shares of all lanes would be %g together; give less than %g, so that some turns are left for the line", sum, 1-returnersShare)
	}
	return nil
}

// turnsEach is how many turns come for one of a returner.
const turnsEach = 4

// turnOf is which of the next turns is that of a position: those of returners come between
// those of the line.
func turnOf(s *State, o driver.Outcome, position int) int {
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
func slower(s *State) float64 {
	rest := 1.0
	for i := range s.Lanes {
		rest -= s.Lanes[i].Share
	}
	return 1 / rest
}

func hasLane(lanes []Lane, name string) bool {
	return slices.ContainsFunc(lanes, func(l Lane) bool { return l.Name == name })
}
