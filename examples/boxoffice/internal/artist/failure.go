package artist

import (
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// Values of a dead letter's dlq_reason, and of update_status.last_error_code.
const (
	API4XX     = "API_4XX"     // the upstream refuses this request, now and later
	API5XX     = "API_5XX"     // it fails, or does not answer in time
	ParseError = "PARSE_ERROR" // its answer is no artist
)

// Reasons of update_process_error_total that never become a dead letter.
const (
	Limited   = "RATE_LIMITED" // the upstream answered 429, or still refuses because of one
	NoBudget  = "BUDGET"       // the budget could not be asked
	NoStorage = "DATABASE"     // the result could not be written
)

// reasons lists all of them, so that their counts begin at 0.
var reasons = []string{API4XX, API5XX, ParseError, Limited, NoBudget, NoStorage}

// Failure of a refresh. It carries the class that package fault judges by.
type Failure struct {
	Reason string // one of the constants
	Status int    // of the answer; 0 when there was none
	err    error
}

func (f *Failure) Error() string { return f.err.Error() }
func (f *Failure) Unwrap() error { return f.err }

// FailureReason is the reason that the bus writes into a dead letter.
func (f *Failure) FailureReason() string { return f.Reason }

// missing reports whether the upstream answered that it has no such artist.
func missing(err error) bool {
	var f *Failure
	return errors.As(err, &f) && f.Status == 404
}

// reasonOf is the reason by which a failure is counted.
func reasonOf(err error) string {
	var f *Failure
	if errors.As(err, &f) {
		return f.Reason
	}
	return API5XX
}

// explain is the code and message of a failure in update_status.
func explain(err error) (code, message string) {
	return reasonOf(err), store.Clip(fmt.Sprint(err), 500)
}
