package bus

// The errors that tests tell apart.
var (
	ErrDrainTimeout     = errDrainTimeout
	ErrRunning          = errRunning
	ErrSubscriptionLost = errSubscriptionLost
)
