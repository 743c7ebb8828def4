package logsub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/fault"
)

func TestTranslate(t *testing.T) {
	busy, bad := errors.New("deadlock"), errors.New("constraint")
	d := &Driver{parts: Parts{Name: "xbus", Backend: Backend{Classify: func(err error) fault.Class {
		switch {
		case errors.Is(err, busy):
			return fault.Transient
		case errors.Is(err, bad):
			return fault.Permanent
		}
		return fault.Unclassified
	}}}}
	assert.NoError(t, d.Translate(nil), "no error became one")
	assert.ErrorIs(t, d.Translate(fmt.Errorf("x: %w", ErrClosed)), bus.ErrClosed, "a closed hub")
	for _, tc := range []struct {
		err  error
		want fault.Class
	}{
		{fmt.Errorf("x: %w", context.DeadlineExceeded), fault.Infrastructure},
		{fmt.Errorf("x: %w", busy), fault.Transient},
		{fmt.Errorf("x: %w", bad), fault.Permanent},
		{fault.MarkPermanent(errors.New("x")), fault.Permanent},
		{errors.New("x"), fault.Transient}, // an unknown error
	} {
		err := d.Translate(tc.err)
		if got := fault.Of(err); got != tc.want || !strings.HasPrefix(err.Error(), "xbus: ") {
			t.Errorf("%v: %v (%v), want %v", tc.err, err, got, tc.want)
		}
	}
}
