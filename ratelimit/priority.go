package ratelimit

// Priority of a call.
type Priority uint8

// Low calls share what the low cap leaves them; High calls can use the whole
// budget and come first when both wait. The zero value is Low.
const (
	Low Priority = iota
	High
)

// String returns "low" or "high", as metrics label it.
func (p Priority) String() string {
	if p == High {
		return "high"
	}
	return "low"
}
