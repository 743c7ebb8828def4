package driver

// Lane is a part of the users of an event, such as members, whose turns may come
// before those of others: see queue.Config.Lanes.
type Lane struct {
	Name string // 1 to 32 letters, digits, - and _
	// Share is the part of all turns that the lane takes at most, above 0. The shares of
	// all lanes are below 0.75 together: that of returners is a quarter, and the rest is
	// the line's.
	Share float64
}

// MaxLanes bounds the lanes of a room.
const MaxLanes = 8
