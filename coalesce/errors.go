package coalesce

import (
	"errors"

	"github.com/millrace-go/millrace/fault"
)

// ErrUnavailable is returned when the store cannot be asked, or does not answer
// in time: the request is refused. Whether the store has carried it out is
// unknown; if it has, the lock stands until its TTL. It is an infrastructure
// failure, so a consumer pauses.
var ErrUnavailable = fault.MarkInfrastructure(errors.New("the store is unavailable and the call is refused"))

// ErrEmptyKey is returned for a key without a character. It is permanent.
var ErrEmptyKey = fault.MarkPermanent(errors.New("coalesce: the key is empty; give the id of what is refreshed"))
