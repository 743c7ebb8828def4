package sqlitebus

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/sqllog/logsub"
)

func TestTranslate(t *testing.T) {
	if translate(nil) != nil {
		t.Error("no error became one")
	}
	if err := translate(fmt.Errorf("x: %w", logsub.ErrClosed)); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("a closed hub: %v", err)
	}
	for _, tc := range []struct {
		err  error
		want fault.Class
	}{
		{fmt.Errorf("x: %w", context.DeadlineExceeded), fault.Infrastructure},
		{fault.MarkPermanent(errors.New("x")), fault.Permanent},
		{errors.New("x"), fault.Transient},
	} {
		if got := fault.Of(translate(tc.err)); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.err, got, tc.want)
		}
	}
}
