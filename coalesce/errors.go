package coalesce

import (
	"errors"

	"github.com/millrace-go/millrace/fault"
)

// ErrUnavailable is returned when the store does not answer in time, or the breaker is open:
// the request is refused. It is unknown whether the store has executed the request; if it has,
// the lock stands until its TTL. It is an infrastructure failure, so a consumer pauses.
var ErrUnavailable = fault.MarkInfrastructure(errors.New("the store is unavailable and the call is refused"))
