package driver

// Priority is the priority of a call.
type Priority uint8

// Low calls are limited by the low cap; High calls can use the whole budget and are served
// first when both wait. The zero value is Low.
const (
	Low Priority = iota
	High
)

// String returns "low" or "high", the labels of metrics.
func (p Priority) String() string {
	if p == High {
		return "high"
	}
	return "low"
}
