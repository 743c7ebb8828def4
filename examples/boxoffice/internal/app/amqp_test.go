package app

import (
	"fmt"
	"net/http"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// On RabbitMQ the queues of domain_events are plain queues, which other programs find
// by their names, and each receives its own types.
func TestPlainQueues(t *testing.T) {
	url := servicetest.RabbitMQ(t)
	p := start(t, "--data-dir", t.TempDir(), "--bus-url", url)
	ann, bob := p.fan("ann"), p.fan("bob")
	held := ann.hold("A-1")
	ann.await(held.ReservationID, ann.pay(held, approve), "A-1", "CONFIRMED , SUCCESS , SOLD")
	ann.call(http.MethodPost, "/api/shows/show-1/comments", "", map[string]string{"text": "Bravo"}, 201, nil)
	ann.call(http.MethodPost, "/api/shows/show-1/like", "", nil, 204, nil)
	bob.call(http.MethodPost, "/api/members/ann/follow", "", nil, 204, nil)
	bob.call(http.MethodPost, "/api/shows/show-1/view", "", nil, 202, nil)
	want := figures{CommentCount: 1, LikeCount: 1, ViewCount: 1, SalesCount: 1}
	var got figures
	boxtest.WaitFor(t, "figures", func() bool { got = ann.figures("show-1"); return got == want },
		func() string { return fmt.Sprintf("%+v", got) })
	p.sound() // and nothing is left in the outbox that no queue takes

	conn, err := amqp.Dial(url)
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // a test's side connection
	for _, c := range p.app.office.consumers.all {
		if c.Topic != events.Domain {
			continue
		}
		for _, queue := range []string{c.Group, operated(c).DeadLetters} {
			ch, err := conn.Channel() // a queue that is not there closes it
			require.NoError(t, err)
			_, err = ch.QueueDeclarePassive(queue, true, false, false, false, nil)
			assert.NoError(t, err, "%s", queue)
		}
	}
}
