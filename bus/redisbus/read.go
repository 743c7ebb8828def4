package redisbus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/redis/go-redis/v9"
	"github.com/vmihailenco/msgpack"

	"github.com/millrace-go/millrace/bus/driver/logdriver"
)

// The fields of a stream's entry, as Watermill's marshaler writes them.
const (
	idField       = "_watermill_message_uuid"
	metadataField = "metadata"
	payloadField  = "payload"
)

// Read implements logdriver.Log.
func (s *store) Read(ctx context.Context, lane int, after logdriver.Position, max int) ([]logdriver.Entry, logdriver.Position, error) {
	found, err := s.client.XRangeN(ctx, s.partition(lane).stream, start(after), "+", int64(max)).Result()
	if err != nil {
		return nil, after, err
	}
	if after.From == "" {
		after.ID = -1 // how many were removed from the beginning is not known
	}
	entries := make([]logdriver.Entry, len(found))
	for i, m := range found {
		after.From = m.ID
		if after.ID >= 0 {
			after.ID++
		}
		entries[i] = entryOf(m)
		entries[i].Lane, entries[i].Position = lane, after
	}
	return entries, after, nil
}

// number is a stream's id as one number; 0 for an id that is not of Redis's clock.
func number(id string) int64 {
	const perMilli = 1 << 20
	ms, seq, _ := strings.Cut(id, "-")
	m, err := strconv.ParseInt(ms, 10, 64)
	n, err2 := strconv.ParseInt(seq, 10, 64)
	if errors.Join(err, err2) != nil || m >= 1<<42 || n >= perMilli {
		return 0
	}
	return m*perMilli + n
}

// start is where reading after a position begins.
func start(after logdriver.Position) string {
	if after.From == "" {
		return "-"
	}
	return "(" + after.From
}

// entryOf reads an entry of any writer: missing fields of Watermill's format are empty.
func entryOf(m redis.XMessage) logdriver.Entry {
	text := func(field string) string {
		s, _ := m.Values[field].(string) //nolint:errcheck // without it, it is empty
		return s
	}
	e := logdriver.Entry{
		ID: number(m.ID), CreatedAt: time.UnixMilli(millis(m.ID)),
		MessageID: m.ID, Headers: text(metadataField), Payload: []byte(text(payloadField)),
	}
	if _, ok := m.Values[idField]; ok {
		e.MessageID = text(idField)
	}
	return e
}

// headers is metadata as Watermill's marshaler writes it: no metadata is an empty text.
type headers struct{}

func (headers) Encode(metadata message.Metadata) (string, error) {
	if _, ok := metadata[idField]; ok {
		return "", fmt.Errorf("metadata %s is reserved for the UUID; rename it", idField)
	}
	if len(metadata) == 0 {
		return "", nil
	}
	encoded, err := msgpack.Marshal(metadata)
	if err != nil {
		return "", fmt.Errorf("encode metadata: %w", err)
	}
	return string(encoded), nil
}

func (headers) Decode(encoded string) (message.Metadata, error) {
	metadata := message.Metadata{}
	if encoded == "" {
		return metadata, nil
	}
	if err := msgpack.Unmarshal([]byte(encoded), &metadata); err != nil {
		return nil, fmt.Errorf("decode metadata: %w", err)
	}
	return metadata, nil
}
