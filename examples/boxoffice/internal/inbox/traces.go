package inbox

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// maxTrace is the longest trace context that is kept, in bytes.
const maxTrace = 256

// keepTrace stores the trace of the notifications of a position: the process that
// sends them does not know the event. Of an event with many recipients the first page
// belongs to its trace.
func (i *Intake) keepTrace(ctx context.Context, tx *sql.Tx, position int64) error {
	sc := trace.SpanContextFromContext(ctx)
	if !i.cfg.Traces || !sc.IsSampled() {
		return nil
	}
	if _, err := tx.ExecContext(ctx, i.sql.KeepTrace, position, pack(ctx)); err != nil {
		return fmt.Errorf("inbox: keep the trace: %w", err)
	}
	return nil
}

// takeTraces gives the notifications of a batch, those of the positions after sent up
// to upTo, their traces, and deletes the stored traces.
func (d *Deliveries) takeTraces(ctx context.Context, tx *sql.Tx, batch []outgoing, sent, upTo int64) error {
	if !d.cfg.Traces {
		return nil
	}
	traces, err := d.tracesOf(ctx, tx, sent, upTo)
	if err != nil {
		return fmt.Errorf("inbox: read traces: %w", err)
	}
	for n := range batch {
		batch[n].trace = traces[batch[n].position]
	}
	if len(traces) == 0 {
		return nil
	}
	_, err = tx.ExecContext(ctx, d.sql.ForgetTraces, upTo)
	return err
}

func (d *Deliveries) tracesOf(ctx context.Context, tx *sql.Tx, sent, upTo int64) (map[int64]string, error) {
	traces := map[int64]string{}
	return traces, store.Each(ctx, tx, d.sql.TracesToSend, []any{sent, upTo}, func(row *sql.Rows) error {
		var position int64
		var kept string
		err := row.Scan(&position, &kept)
		traces[position] = kept
		return err
	})
}

// within is ctx in the trace of the notification's event.
func (o outgoing) within(ctx context.Context) context.Context {
	parent, state, _ := strings.Cut(o.trace, " ")
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{parentHeader: parent, stateHeader: state})
}

// The headers of a W3C trace context.
const parentHeader, stateHeader = "traceparent", "tracestate"

// pack is the trace of ctx as one text: without its state if that is too long.
func pack(ctx context.Context) string {
	headers := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, headers)
	parent, state := headers[parentHeader], headers[stateHeader]
	if state == "" || len(parent)+1+len(state) > maxTrace {
		return parent
	}
	return parent + " " + state
}
