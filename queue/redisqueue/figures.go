package redisqueue

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/queue/driver"
)

var _ driver.Recorder = (*store)(nil)

// figuresKey is a hash with the figures of an hour: the sample of each minute as JSON
// under its number, the users by minute and bucket of their time in line under
// <minute>/<bucket>, and the turns of lanes under <minute>/laned. It ends by itself.
func (s *store) figuresKey(event string, hour int64) string {
	return s.prefix + "{" + event + "}:figures:" + strconv.FormatInt(hour, 10)
}

const lanedField = "/laned"

// Record keeps a sample of a minute; see [driver.Recorder].
func (s *store) Record(ctx context.Context, event string, sample driver.Sample) error {
	key, minute := s.figuresKey(event, sample.Minute/60), strconv.FormatInt(sample.Minute, 10)
	waits := sample.Waits
	sample.Waits = nil
	text, err := json.Marshal(sample)
	if err != nil {
		return fmt.Errorf("redisqueue: record: %w", err)
	}
	_, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, key, minute, text)
		for bucket, n := range waits {
			p.HIncrBy(ctx, key, minute+"/"+strconv.Itoa(bucket), n)
		}
		if sample.Laned > 0 {
			p.HIncrBy(ctx, key, minute+lanedField, sample.Laned)
		}
		p.PExpire(ctx, key, driver.KeepFigures+time.Hour)
		return nil
	})
	if err != nil {
		return s.failed("record figures of", event, err)
	}
	return nil
}

// Samples are the figures of an event; see [driver.Recorder].
func (s *store) Samples(ctx context.Context, event string) ([]driver.Sample, error) {
	now, err := s.client.Time(ctx).Result()
	if err != nil {
		return nil, s.failed("read the clock for", event, err)
	}
	const hours = int64(driver.KeepFigures/time.Hour) + 1
	last, oldest := now.Unix()/3600, now.Add(-driver.KeepFigures).Unix()/60
	var answers []*redis.MapStringStringCmd
	_, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for hour := last - hours + 1; hour <= last; hour++ {
			answers = append(answers, p.HGetAll(ctx, s.figuresKey(event, hour)))
		}
		return nil
	})
	if err != nil {
		return nil, s.failed("read figures of", event, err)
	}
	found := map[int64]*driver.Sample{}
	of := func(minute int64) *driver.Sample {
		if found[minute] == nil {
			found[minute] = &driver.Sample{Waits: map[int]int64{}}
		}
		return found[minute]
	}
	for _, answer := range answers {
		for field, text := range answer.Val() {
			name, bucket, timed := strings.Cut(field, "/")
			minute, err := strconv.ParseInt(name, 10, 64)
			if err != nil || minute <= oldest {
				continue
			}
			sample := of(minute)
			if !timed {
				err = json.Unmarshal([]byte(text), sample)
			} else if "/"+bucket == lanedField {
				sample.Laned, err = strconv.ParseInt(text, 10, 64)
			} else if b, e := strconv.Atoi(bucket); e == nil {
				sample.Waits[b], err = strconv.ParseInt(text, 10, 64)
			}
			if err != nil {
				return nil, s.failed("read figures of", event, err)
			}
		}
	}
	var samples []driver.Sample
	for minute, sample := range found {
		if sample.Minute == minute { // not only times of a sample that was lost
			samples = append(samples, *sample)
		}
	}
	slices.SortFunc(samples, func(a, b driver.Sample) int { return int(a.Minute - b.Minute) })
	return samples, nil
}
