package bench

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/millrace-go/millrace/bus/amqpbus"
)

// queues are those of package amqpbus for the benchmark's topic and group.
func (c Config) queues() []string {
	base := c.Name + ":" + c.Name
	queues := []string{base + ":members"}
	for i := range lanes {
		queues = append(queues, base+":"+strconv.Itoa(i))
	}
	return queues
}

// inRabbit finds an exchange and queues that do not exist; the transport creates them. The
// broker does not refuse the second of two runs at once, so each looks for the other's
// mark: a queue that only its connection may use, and that is deleted with the connection.
func (c Config) inRabbit(ctx context.Context, rawURL string, u *url.URL) (*place, error) {
	what := "the exchange " + c.Name + " and its queues"
	by := fmt.Sprintf("rabbitmqctl delete_queue %s (and :0 to :%d), and delete the exchange %s", c.Name+":"+c.Name+":members", lanes-1, c.Name)
	// name, partitions and exchange are set, the other parameters of the URL stay.
	inside := with(*u, map[string]string{"exchange": c.Name, "partitions": strconv.Itoa(lanes)})
	conn, err := dialRabbit(u)
	if err != nil {
		return nil, err
	}
	refuse := func(err error) (*place, error) {
		_ = conn.Close() // the first error is returned
		return nil, err
	}
	ch, err := conn.Channel()
	if err != nil {
		return refuse(err)
	}
	if _, err := ch.QueueDeclare(c.Name+":running", false, true, true, false, nil); err != nil {
		var answer *amqp.Error
		if errors.As(err, &answer) && answer.Code == amqp.ResourceLocked {
			err = taken(what, by)
		}
		return refuse(err)
	}
	there, err := foundRabbit(conn, c.Name, c.queues())
	if err != nil {
		return refuse(err)
	}
	if there {
		return refuse(taken(what, by))
	}
	return &place{url: inside, what: what, remove: func(ctx context.Context) error {
		closeErr := conn.Close() // and with it the mark
		fresh, err := dialRabbit(u)
		if err != nil {
			return err
		}
		_ = closeErr // losing this connection does not matter to the removal
		return errors.Join(removeRabbit(fresh, c.Name, c.queues()), fresh.Close())
	}}, nil
}

// foundRabbit reports whether the exchange or one of the queues exists. The broker closes
// the channel of a request for one that does not.
func foundRabbit(conn *amqp.Connection, exchange string, queues []string) (bool, error) {
	ask := func(do func(*amqp.Channel) error) (bool, error) {
		ch, err := conn.Channel()
		if err != nil {
			return false, err
		}
		err = do(ch)
		var answer *amqp.Error
		if errors.As(err, &answer) && answer.Code == amqp.NotFound {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		return true, ch.Close()
	}
	there, err := ask(func(ch *amqp.Channel) error {
		return ch.ExchangeDeclarePassive(exchange, amqp.ExchangeTopic, true, false, false, false, nil)
	})
	for _, queue := range queues {
		if err != nil || there {
			return there, err
		}
		there, err = ask(func(ch *amqp.Channel) error {
			_, err := ch.QueueDeclarePassive(queue, true, false, false, false, nil)
			return err
		})
	}
	return there, err
}

// removeRabbit deletes the queues and the exchange that exist.
func removeRabbit(conn *amqp.Connection, exchange string, queues []string) error {
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	for _, queue := range queues {
		if _, err := ch.QueueDelete(queue, false, false, false); err != nil {
			return err
		}
	}
	return ch.ExchangeDelete(exchange, false, false)
}

// dialRabbit connects to the first node that answers, as the transport does.
func dialRabbit(u *url.URL) (*amqp.Connection, error) {
	uri, cfg, err := amqpbus.Dialing(u.String(), amqpbus.Config{})
	if err != nil {
		return nil, err
	}
	return amqp.DialConfig(uri, cfg)
}
