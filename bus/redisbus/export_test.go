package redisbus

// The errors that tests tell apart.
var (
	ErrFull          = errFull
	ErrNotReplicated = errNotReplicated
)

// Starts is the name of a group's starts on a stream.
func Starts(stream, group string) string { return keys("").starts(stream, group) }
