package draw

var ErrUnfinished = errUnfinished
