package driver

import (
	"context"
	"time"
)

// KeepFigures is how long figures are kept.
const KeepFigures = 12 * time.Hour

// Sample is a room as it was last seen within a minute. The counts are those of [State],
// since its epoch began.
type Sample struct {
	Minute                    int64 // since 1970
	Epoch                     uint64
	Joined, Entered, NoShows  int64
	Waiting, Entitled, Active int
	Returned                  int64
	Returning                 int
	Stock                     *int          `json:",omitempty"` // nil while it is not known
	Highest                   int64         // order that was seen
	Waits                     map[int]int64 `json:",omitempty"` // users whose turn came, by the bucket of their time in line
	Laned                     int64         `json:"-"`          // turns that came by the share of a lane
}

// Recorder is a [Store] that keeps figures. All processes in which a room runs record the
// same minutes: a sample is of the whole room, so the last one of a minute is right,
// in whichever process it was made.
type Recorder interface {
	// Record keeps a sample in place of an earlier one of its minute, and adds its Waits
	// and Laned to those of the minute.
	Record(ctx context.Context, event string, s Sample) error
	// Samples are those of the last KeepFigures, by minute.
	Samples(ctx context.Context, event string) ([]Sample, error)
}
