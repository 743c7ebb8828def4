package driver

import "errors"

// ErrEvicted is returned by Cap.Open for a token that is remembered as evicted.
var ErrEvicted = errors.New("sse: the stream was evicted")
