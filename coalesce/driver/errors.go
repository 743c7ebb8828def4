package driver

import (
	"errors"

	"github.com/millrace-go/millrace/fault"
)

// ErrEmptyKey is returned for an empty key. It is permanent.
var ErrEmptyKey = fault.MarkPermanent(errors.New("coalesce: the key is empty; give the id of what is refreshed"))
