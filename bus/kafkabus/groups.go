package kafkabus

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/millrace-go/millrace/bus"
)

// Declare creates topics and groups. If a topic exists, its number of partitions must be
// the declared one, if one is declared; Declare changes its retention to the declared one
// and leaves its replication unchanged. A group that has never consumed begins at the
// earliest message of that moment.
func (d *driver) Declare(ctx context.Context, topics ...bus.Topic) error {
	for _, t := range topics {
		t.Name = d.set.prefix + t.Name
		if err := d.topics.declare(ctx, t); err != nil {
			return wrap(err, "declare %s", t.Name)
		}
		for _, group := range t.Groups {
			group = d.set.prefix + group
			d.groups.Store(groupID{t.Name, group}, nil)
			if err := d.begin(ctx, t.Name, group); err != nil {
				return wrap(err, "declare group %s of %s", group, t.Name)
			}
		}
	}
	return nil
}

// groupID is a group on a topic.
type groupID struct{ topic, group string }

// begin commits the earliest offsets for partitions where a group has none.
func (d *driver) begin(ctx context.Context, topic, group string) error {
	committed, err := d.committed(ctx, group)
	if err != nil {
		return err
	}
	_, err = request(ctx, d, func(ctx context.Context) (none struct{}, err error) {
		start, err := complete(d.admin.ListStartOffsets(ctx, topic))
		if err != nil {
			return none, err
		}
		begin := kadm.Offsets{}
		for p, at := range start[topic] {
			if _, ok := committed[topic][p]; !ok {
				begin.AddOffset(topic, p, at.Offset, -1)
			}
		}
		if len(begin) == 0 {
			return none, nil
		}
		answer, err := d.admin.CommitOffsets(ctx, group, begin)
		if err != nil {
			return none, err
		}
		if err = answer.Error(); isKerror(err, kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.RebalanceInProgress) {
			return none, nil // members are at work: they begin at the earliest message anyway
		}
		return none, err
	})
	return err
}

// commit is a group's committed offset of a partition.
type commit struct {
	offset int64
	note   string // our metadata beside it; see note
}

// from is where the group reads on: at the earliest message if the next one was deleted, or if
// the end, which was looked up after the commit, is before it.
func (c commit) from(start, end int64) int64 {
	if c.offset > end {
		return start
	}
	return max(c.offset, start)
}

// commits are those of a group by topic and partition.
type commits = map[string]map[int32]commit

// committed returns the commits of a group.
func (d *driver) committed(ctx context.Context, group string) (commits, error) {
	all, err := d.committedAll(ctx, []string{group})
	return all[group], err
}

// askedAtOnce is how many groups one request for their commits names.
const askedAtOnce = 200

// committedAll returns the commits of groups, by group.
func (d *driver) committedAll(ctx context.Context, groups []string) (map[string]commits, error) {
	out := map[string]commits{}
	for some := range slices.Chunk(groups, askedAtOnce) {
		found, err := request(ctx, d, func(ctx context.Context) (kadm.FetchOffsetsResponses, error) {
			found := d.admin.FetchManyOffsets(ctx, some...)
			maps.DeleteFunc(found, func(_ string, of kadm.FetchOffsetsResponse) bool {
				return isKerror(of.Err, kerr.GroupIDNotFound) // some coordinators say so, others name no offset
			})
			return found, found.Error()
		})
		if err != nil {
			return nil, err
		}
		for group, of := range found {
			if out[group], err = commitsIn(of.Fetched); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func commitsIn(all kadm.OffsetResponses) (commits, error) {
	out := commits{}
	for topic, of := range all {
		out[topic] = map[int32]commit{}
		for p, at := range of {
			if at.Err != nil {
				return nil, fmt.Errorf("partition %d of %s: %w", p, topic, at.Err)
			}
			if at.At >= 0 {
				out[topic][p] = commit{at.At, at.Metadata}
			}
		}
	}
	return out, nil
}
