package catalog

// Show is a show with its public facts.
type Show struct {
	ID       string
	Title    string
	Comments int64
	Likes    int64
	Views    int64
	Sales    int64 // seats of completed orders, as their consumer counted them
	Seats    Counts
	// How many seats a member may hold at once, and buy.
	MaxHeld, MaxBought int
	Facts
}

// Counts of a show's seats; Available + Held + Sold = Total.
type Counts struct{ Total, Available, Held, Sold int }

func (c *Counts) add(status string, n int) {
	c.Total += n
	switch status {
	case "AVAILABLE":
		c.Available += n
	case "HOLD":
		c.Held += n
	case "SOLD":
		c.Sold += n
	}
}

// Seat is one seat; Status is AVAILABLE, HOLD or SOLD, Price in the smallest unit of
// the show's currency, and Class the one that has this price.
type Seat struct {
	ID     string
	Status string
	Price  int64
	Class  string
}
