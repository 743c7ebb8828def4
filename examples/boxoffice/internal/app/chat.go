package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/chat"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/sse/driver"
	"github.com/millrace-go/millrace/sse/memsse"
	"github.com/millrace-go/millrace/sse/redissse"
)

// buildChat makes the chat, after the live streams that it sends to. It connects to
// nothing.
func (a *App) buildChat(opened *closers) error {
	broker, err := a.chatBroker(opened)
	if err != nil {
		return err
	}
	cfg := chat.Config{NoRoom: catalog.ErrNoShow, PerAddress: a.cfg.Door.Streams, Logger: a.log}
	if a.live != nil {
		cfg.Delivered = a.live.RoomDelivered
	}
	if a.chat, err = chat.New(a.store, a.catalog, a.outbox, broker, cfg); err != nil {
		return err
	}
	if a.live != nil {
		a.chat.SetSender(a.live.Hub())
	}
	return nil
}

// chatBroker carries the notifications of the rooms. In memory they reach this
// process only; sockets of other processes then find new messages by polling.
func (a *App) chatBroker(opened *closers) (driver.Broker, error) {
	if a.cfg.RoomInMemory() {
		return memsse.NewBroker()
	}
	client, err := a.openRedis(opened)
	if err != nil {
		return nil, err
	}
	return redissse.NewBroker(client, redissse.BrokerConfig{Prefix: a.cfg.RedisPrefix + "chat:"})
}

// startChat starts the parts that sockets and workers need: before both, so that the
// parts end after them.
func (a *App) startChat(run *stages) {
	if a.chats() {
		run.start("chat", a.chat.Run)
	}
}

// chats reports whether this process has a part in the chat.
func (a *App) chats() bool {
	return a.chat != nil && (a.cfg.Has(config.RoleAPI) || a.cfg.Has(config.RoleWorker))
}

// chatCollectors are the metrics of the chat.
func (a *App) chatCollectors() []prometheus.Collector {
	if !a.chats() {
		return nil
	}
	return []prometheus.Collector{a.chat.Collector()}
}

// chatStats are the figures of the chat for an operator; nil where there is no chat.
func (a *App) chatStats() func() chat.Stats {
	if !a.chats() {
		return nil
	}
	return a.chat.Stats
}
