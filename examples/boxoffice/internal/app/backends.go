package app

import (
	"log/slog"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/amqpbus"
	"github.com/millrace-go/millrace/bus/amqpbus/amqpwatermill"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/bus/kafkabus/kafkawatermill"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/bus/mysqlbus"
	"github.com/millrace-go/millrace/bus/natsbus"
	"github.com/millrace-go/millrace/bus/pgbus"
	"github.com/millrace-go/millrace/bus/redisbus"
	"github.com/millrace-go/millrace/bus/redisbus/rediswatermill"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
)

// Schemes names the schemes of the transports that the program links.
func Schemes() (names []string) {
	for _, s := range schemes(nil, "", nil) {
		names = append(names, s.Names()...)
	}
	return names
}

func (b *base) schemes() []bus.Scheme {
	holder := ""
	if b.sole {
		holder = b.holder
	}
	return schemes(b.store, holder, b.log)
}

// schemes shares the database's pools with the transport in the same
// database, so that publishing can be part of a transaction there. holder is a name kept
// over restarts, "" for none.
func schemes(s *store.Store, holder string, log *slog.Logger) []bus.Scheme {
	lite := sqlitebus.Config{LeaseTTL: leaseTTL, Holder: holder, Logger: log}
	pg := pgbus.Config{Holder: holder, Logger: log}
	my := mysqlbus.Config{Holder: holder, Logger: log}
	if s != nil {
		switch s.Dialect() {
		case "sqlite":
			lite.DB, lite.ReadDB = s.DB(), s.Reader()
		case "postgres":
			pg.DB = s.DB()
		case "mysql":
			my.DB = s.DB()
		}
	}
	return []bus.Scheme{
		membus.Scheme(),
		sqlitebus.Scheme(lite),
		pgbus.Scheme(pg),
		mysqlbus.Scheme(my),
		rediswatermill.Scheme(redisbus.Config{Logger: log}, rediswatermill.Config{}),
		kafkawatermill.Scheme(kafkabus.Config{ClientID: "boxoffice", Logger: log}, kafkawatermill.Config{}),
		natsbus.Scheme(natsbus.Config{Logger: log}),
		amqpwatermill.Scheme(amqpbus.Config{Bindings: bindings(), Logger: log}, amqpwatermill.Config{}),
	}
}

// bindings are the types of events that each queue of domain_events takes on
// RabbitMQ, where that topic is the exchange itself and other programs may share
// its queues.
func bindings() map[string][]string {
	return map[string][]string{
		events.GroupChatPersist: {events.ChatMessageSent},
		events.GroupChatFanout:  {events.ChatMessageSent},
		events.GroupCounts:      {events.CommentCountDeltaPublished},
		events.GroupNotifications: {
			events.MemberFollowed, events.PostLiked, events.CommentCreated, events.VoteClosed,
			events.ReservationNotice, events.TransferNotice,
		},
	}
}

// outboxIn is the outbox in the database of the box office.
func outboxIn(s *store.Store) (outboxStore, error) {
	switch s.Dialect() {
	case "postgres":
		return pgoutbox.New(s.DB(), pgoutbox.Config{})
	case "mysql":
		return mysqloutbox.New(s.DB(), mysqloutbox.Config{})
	}
	return sqliteoutbox.New(s.DB(), sqliteoutbox.Config{Reader: s.Reader()})
}
