package upstream

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// variants is how many histories there are; artists share them.
	variants = 8
	// slotsAt bounds the bytes that the fields around the figures need.
	slotsAt = 420
)

// firstUpdate is when the oldest artist was changed first.
var firstUpdate = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// bodies makes artists out of a head and a tail. The head is everything but the
// history and differs by artist and revision. The tail is the history, one of a few that
// are never copied. Both have a fixed length.
type bodies struct {
	head    int    // bytes
	figures int    // in a head
	padding string // fills a head up
	tails   [variants][]byte
	pool    sync.Pool
}

// slot is the longest figure: four digits name it, and eight are its value.
const slot = len(`"f1234":12345678,`)

func newBodies(size int) *bodies {
	b := &bodies{head: max(size*17/300, 1_000)}
	b.figures = min((b.head-slotsAt)/slot, 9_999)
	const prose = "Plays a long set, starts on time, and comes back for one more song. "
	b.padding = strings.Repeat(prose, 1+b.head/len(prose))
	for i := range b.tails {
		b.tails[i] = newTail(size-b.head, i)
	}
	b.pool.New = func() any { buf := make([]byte, 0, b.head); return &buf }
	return b
}

// newTail builds a history of exactly size bytes, with the end of the object.
func newTail(size, variant int) []byte {
	const end = `]}` + "\n"
	b := make([]byte, 0, size)
	at := firstUpdate.AddDate(0, 0, -variant)
	for i := 0; ; i++ {
		at = at.Add(-31 * time.Hour)
		n := mix(uint64(variant)<<32 | uint64(i))
		entry := fmt.Sprintf(`{"at":%q,"kind":"show","venue":"Hall %04d","attendance":%d,"encores":%d,"note":"`,
			at.Format(time.RFC3339), n%10_000, 1_000+n>>16%9_000, n>>40%4)
		const closing = `"}`
		// The entry after this one, and its comma, must fit as well.
		if room := size - len(b) - len(entry) - len(closing) - len(end); room < 2*len(entry) {
			b = append(b, entry...)
			b = append(b, strings.Repeat("+", room)...)
			return append(b, closing+end...)
		}
		b = append(b, entry+closing+","...)
	}
}

// artist has the inputs of an artist's parts.
type artist struct {
	id       int
	revision uint64
}

func (a artist) seed() uint64 { return mix(uint64(a.id)<<40 ^ a.revision) }

// level grows by one with each revision.
func (a artist) level() uint64 { return 1 + mix(uint64(a.id))%200 + a.revision }

// updatedAt moves on by a minute with each revision.
func (a artist) updatedAt() time.Time {
	first := firstUpdate.Add(time.Duration(mix(uint64(a.id)^0xa7)%86_400) * time.Second)
	return first.Add(time.Duration(a.revision) * time.Minute)
}

var genres = [...]string{"trot", "indie rock", "ballad", "hip-hop", "jazz", "city pop", "k-pop", "folk"}

// headOf writes the head of an artist. Return it with free.
func (b *bodies) headOf(a artist) *[]byte {
	seed := a.seed()
	p := b.pool.Get().(*[]byte)
	h := append((*p)[:0], `{"id":"`...)
	h = strconv.AppendInt(h, int64(a.id), 10)
	h = append(h, `","name":"Artist `...)
	h = strconv.AppendInt(h, int64(a.id), 10)
	h = append(h, `","level":`...)
	h = strconv.AppendUint(h, a.level(), 10)
	h = append(h, `,"updatedAt":"`...)
	h = a.updatedAt().AppendFormat(h, time.RFC3339)
	h = append(h, `","attributes":{"genre":"`...)
	h = append(h, genres[mix(uint64(a.id))%uint64(len(genres))]...)
	h = append(h, `","country":"KR","revision":`...)
	h = strconv.AppendUint(h, a.revision, 10)
	h = append(h, `,"figures":{`...)
	for i := range b.figures {
		seed = mix(seed)
		h = append(h, `"f`...)
		h = strconv.AppendInt(h, int64(i+1), 10)
		h = append(h, `":`...)
		h = strconv.AppendUint(h, 10_000_000+seed%90_000_000, 10)
		h = append(h, ',')
	}
	h[len(h)-1] = '}' // in the place of the last comma
	h = append(h, `,"biography":"`...)
	const closing = `"},"history":[`
	h = append(h, b.padding[:b.head-len(h)-len(closing)]...)
	h = append(h, closing...)
	*p = h
	return p
}

func (b *bodies) free(head *[]byte) { b.pool.Put(head) }

// tailOf is shared: it must not be written to.
func (b *bodies) tailOf(a artist) []byte { return b.tails[a.id%variants] }

// mix is SplitMix64's step: cheap, and every bit of n moves all others.
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}
