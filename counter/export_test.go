package counter

// ErrResting is the error while an unreachable store is not called.
var ErrResting = errResting
