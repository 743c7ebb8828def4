package txbus

import (
	"context"
	"database/sql"
	"sync"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
)

// delivery is a message that is out, and its transaction.
type delivery struct {
	msg    *message.Message
	tx     *sql.Tx
	ctx    context.Context // of the message; ends when the transaction cannot be used any more
	cancel context.CancelFunc

	mu    sync.Mutex
	hooks func() // of the handler's successful run
}

type deliveryKey struct{}

func deliveryOf(ctx context.Context) *delivery {
	d, _ := ctx.Value(deliveryKey{}).(*delivery)
	return d
}

// newDelivery makes the message to hand over. Its context has the values of Watermill's,
// including the transaction, but outlives the intake.
func newDelivery(m *message.Message) *delivery {
	d := &delivery{msg: message.NewMessage(m.UUID, m.Payload)}
	d.tx, _ = wmsql.TxFromContext(m.Context())
	for k, v := range m.Metadata {
		d.msg.Metadata[k] = v
	}
	d.ctx, d.cancel = context.WithCancel(context.WithValue(context.WithoutCancel(m.Context()), deliveryKey{}, d))
	d.msg.SetContext(d.ctx)
	return d
}

// lose ends the message's context, so that its consumer hands it back.
func (d *delivery) lose() { d.cancel() }

func (d *delivery) lost() bool { return d.ctx.Err() != nil }

// keep stores the hooks that run after the commit.
func (d *delivery) keep(hooks func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hooks = hooks
}

func (d *delivery) committed() {
	d.mu.Lock()
	hooks := d.hooks
	d.mu.Unlock()
	if hooks != nil {
		hooks()
	}
}
