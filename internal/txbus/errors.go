package txbus

import (
	"context"
	"errors"
	"fmt"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/fault"
)

var errClosed = errors.New("closed")

// translate gives an error the class that the database's driver knows, and the
// sentinels of package bus.
func (d *Driver) translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errClosed), errors.Is(err, wmsql.ErrPublisherClosed), errors.Is(err, wmsql.ErrSubscriberClosed):
		return fmt.Errorf("%s: %w", d.Name, bus.ErrClosed)
	}
	err = fmt.Errorf("%s: %w", d.Name, err)
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.MarkInfrastructure(err)
	}
	switch d.Classify(err) {
	case fault.Transient:
		return fault.MarkTransient(err)
	case fault.Infrastructure:
		return fault.MarkInfrastructure(err)
	case fault.Permanent:
		return fault.MarkPermanent(err)
	}
	return err
}
