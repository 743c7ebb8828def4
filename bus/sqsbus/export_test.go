package sqsbus

// The errors that tests tell apart.
var (
	ErrTooLarge   = errTooLarge
	ErrOtherGroup = errOtherGroup
	ErrOtherTopic = errOtherTopic
)
