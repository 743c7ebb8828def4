// Package allbus has the schemes of every transport of Millrace, for programs that select the
// transport by configuration. It links all their drivers. If you know which transports a program
// needs, pass only their schemes to bus.Open: the program then links no other.
//
//	b, err := bus.Open(ctx, url, allbus.Schemes(allbus.Config{})...)
//
//	scheme                        package      durable   groups   instances of a group
//	mem://                        membus       no        yes      of one process
//	sqlite://                     sqlitebus    yes       yes      of one machine
//	postgres://, postgresql://    pgbus        yes       yes      anywhere
//	mysql://                      mysqlbus     yes       yes      anywhere
//	redis://, rediss://           redisbus     yes       yes      anywhere
//	kafka://                      kafkabus     yes       yes      anywhere
//	nats://, tls://               natsbus      yes       yes      anywhere
//	amqp://, amqps://             amqpbus      yes       queues   anywhere
//	sqs://                        sqsbus       yes       no       anywhere
//	sns://                        sqsbus       yes       queues   anywhere
//
// kafka://, amqp:// and redis:// with ?mode=watermill, and postgres:// and mysql:// with
// ?mode=tx, are Watermill's own adapters.
//
//	property                                   proven by
//	it knows these schemes and no others       TestSchemes
//	it knows their modes                       TestModes
//	every scheme opens and delivers            TestEachSchemeDelivers
//	Logger is that of all transports           TestLogger
package allbus

import (
	"cmp"
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
	"github.com/millrace-go/millrace/bus/sqsbus"
)

// Config has the settings of transports, for instance to share the program's own pool. The zero
// value works.
type Config struct {
	SQLite   sqlitebus.Config // for sqlite:// URLs
	Postgres pgbus.Config     // for postgres:// and postgresql://
	MySQL    mysqlbus.Config  // for mysql://
	Redis    redisbus.Config  // for redis:// and rediss://
	Kafka    kafkabus.Config  // for kafka://
	NATS     natsbus.Config   // for nats:// and tls://
	AMQP     amqpbus.Config   // for amqp:// and amqps://
	SQS      sqsbus.Config    // for sqs:// and sns://

	// Logger is that of each transport whose own Logger is nil; slog.Default() by default.
	Logger *slog.Logger
}

// Schemes returns the schemes of all transports.
func Schemes(cfg Config) []bus.Scheme {
	cfg = cfg.withLogger()
	return []bus.Scheme{
		membus.Scheme(),
		sqlitebus.Scheme(cfg.SQLite),
		pgbus.Scheme(cfg.Postgres),
		mysqlbus.Scheme(cfg.MySQL),
		rediswatermill.Scheme(cfg.Redis, rediswatermill.Config{}),
		kafkawatermill.Scheme(cfg.Kafka, kafkawatermill.Config{}),
		natsbus.Scheme(cfg.NATS),
		amqpwatermill.Scheme(cfg.AMQP, amqpwatermill.Config{}),
		sqsbus.Scheme(cfg.SQS),
	}
}

// withLogger gives the Logger to the transports that have none.
func (c Config) withLogger() Config {
	for _, logger := range []**slog.Logger{
		&c.SQLite.Logger, &c.Postgres.Logger, &c.MySQL.Logger, &c.Redis.Logger,
		&c.Kafka.Logger, &c.NATS.Logger, &c.AMQP.Logger, &c.SQS.Logger,
	} {
		*logger = cmp.Or(*logger, c.Logger)
	}
	return c
}
