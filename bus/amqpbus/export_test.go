package amqpbus

import busdriver "github.com/millrace-go/millrace/bus/driver"

// The errors that tests tell apart.
var (
	ErrBusy        = errBusy
	ErrPartitions  = errPartitions
	ErrUnconfirmed = errUnconfirmed
	ErrUnroutable  = errUnroutable
)

// Queues names every queue that a driver created or found, so that a test can delete them.
func Queues(d busdriver.Driver) []string {
	var all []string
	for _, g := range d.(*driver).topology.known() {
		all = append(all, g.queues...)
	}
	return all
}
