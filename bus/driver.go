package bus

import (
	"cmp"
	"strings"

	"github.com/millrace-go/millrace/bus/driver"
)

// Topic describes a topic for [Bus.Declare].
type Topic = driver.Topic

// Scheme opens the URLs of a transport. The packages of the transports make one each.
type Scheme = driver.Scheme

// Lag tells how far a group is behind on a topic: Messages that are not yet acknowledged, which
// the transport may cap, and when the Oldest of them was published, zero when none or unknown.
type Lag = driver.Lag

// byGroup orders by topic and group.
func byGroup(a, b Lag) int {
	return cmp.Or(strings.Compare(a.Topic, b.Topic), strings.Compare(a.Group, b.Group))
}
