package place

import (
	"errors"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"
)

// SweepRabbitMQ deletes queues and exchanges, whether they are there or not.
func SweepRabbitMQ(url string, queues, exchanges []string) (err error) {
	conn, err := amqp.Dial(url)
	if err != nil {
		return fmt.Errorf("connect to RabbitMQ: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	for _, q := range queues {
		if _, err := ch.QueueDelete(q, false, false, false); err != nil {
			return err
		}
	}
	for _, e := range exchanges {
		if err := ch.ExchangeDelete(e, false, false); err != nil {
			return err
		}
	}
	return nil
}
