package artist

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func extract(s string) (Document, error) { return Extract(strings.NewReader(s), 1<<20, "7") }

func TestExtract(t *testing.T) {
	d, err := extract(`
		{"history": [{"a":"]}"},[1,-2.5e+3,null]], "level": 12, "name":"Él \u0031", "id":7, "updatedAt":"2026-01-02T03:04:05+09:00",
		 "attributes":{"z":1.10,"a":[true,false,{"history":"kept"}]}, "extra":"<&>" }
	`)
	require.NoError(t, err)
	const want = `{"attributes":{"a":[true,false,{"history":"kept"}],"z":1.10},"extra":"<&>","id":7,"level":12,"name":"Él 1","updatedAt":"2026-01-02T03:04:05+09:00"}`
	if string(d.Content) != want || d.ID != "7" || d.Level != 12 || d.Name != "Él 1" || d.UpdatedAt.Format("15:04 MST") != "18:04 UTC" {
		t.Errorf("extracted %+v with content\n%s, want\n%s", d, d.Content, want)
	}
	// Equal content has the same hash in another form; other content has another hash.
	same, err := extract(`{"updatedAt":"2026-01-02T03:04:05+09:00","extra":"<&>","id":7,"name":"Él 1","level":12,"attributes":{"a":[true,false,{"history":"kept"}],"z":1.10}}`)
	if err != nil || same.Hash != d.Hash {
		t.Errorf("written otherwise: %s, %v; want %s", same.Hash, err, d.Hash)
	}
	other, err := extract(strings.Replace(want, "1.10", "1.11", 1))
	if err != nil || other.Hash == d.Hash {
		t.Errorf("another document: %s, %v", other.Hash, err)
	}
}

func TestExtractRefuses(t *testing.T) {
	const good = `{"id":"7","name":"n","level":1,"history":[]}`
	_, err := extract(good)
	require.NoError(t, err)
	for what, doc := range map[string]string{
		"nothing":                 ``,
		"no object":               `[1]`,
		"cut":                     good[:len(good)-1],
		"something behind":        good + "x",
		"a second document":       good + good,
		"another artist":          strings.Replace(good, `"7"`, `"8"`, 1),
		"no id":                   `{"name":"n","level":1}`,
		"no name":                 `{"id":"7","level":1}`,
		"a long name":             strings.Replace(good, `"n"`, `"`+strings.Repeat("n", 201)+`"`, 1),
		"a name with a NUL":       strings.Replace(good, `"n"`, `"\u0000"`, 1),
		"no level":                `{"id":"7","name":"n"}`,
		"a level of text":         strings.Replace(good, `1,`, `"1",`, 1),
		"a level of a half":       strings.Replace(good, `1,`, `1.5,`, 1),
		"a strange time":          strings.Replace(good, `"level"`, `"updatedAt":"today","level"`, 1),
		"history: cut":            `{"id":"7","name":"n","level":1,"history":[{"a":"b`,
		"history: bracket":        strings.Replace(good, `[]`, `[}`, 1),
		"history: comma":          strings.Replace(good, `[]`, `[1,,2]`, 1),
		"history: trailing comma": strings.Replace(good, `[]`, `[1,]`, 1),
		"history: number":         strings.Replace(good, `[]`, `[01]`, 1),
		"history: escape":         strings.Replace(good, `[]`, `["\x"]`, 1),
		"history: unicode":        strings.Replace(good, `[]`, `["\u12g4"]`, 1),
		"history: control":        strings.Replace(good, `[]`, "[\"\x01\"]", 1),
		"history: word":           strings.Replace(good, `[]`, `[nul]`, 1),
		"history: member":         strings.Replace(good, `[]`, `[{1:2}]`, 1),
		"history: colon":          strings.Replace(good, `[]`, `[{"a" 2}]`, 1),
		"history: depth":          strings.Replace(good, `[]`, strings.Repeat("[", 2000)+strings.Repeat("]", 2000), 1),
	} {
		if d, err := extract(doc); err == nil {
			t.Errorf("%s was taken: %+v", what, d)
		}
	}
	_, err = Extract(strings.NewReader(good), int64(len(good)), "7")
	assert.NoError(t, err, "a document of exactly the limit")
	if _, err := Extract(strings.NewReader(good), int64(len(good))-1, "7"); !errors.Is(err, errLarge) {
		t.Errorf("a document above the limit: %v", err)
	}
	broken := errors.New("connection reset")
	if _, err := Extract(io.MultiReader(strings.NewReader(good[:20]), iotest.ErrReader(broken)), 1<<20, "7"); !errors.Is(err, broken) {
		t.Errorf("a connection that breaks: %v", err)
	}
}

// The scan accepts exactly the input that encoding/json accepts, in pieces of any
// size.
func TestScanAgreesWithJSON(t *testing.T) {
	alphabet := []string{`{`, `}`, `[`, `]`, `,`, `:`, `"a"`, `"\n\u00e9\""`, `0`, `-1.5e-7`, `12`, `true`, `false`, `null`, ` `, `"`, `\`, `.`, `e`, `-`, "\x00", `1E+3`, `{"a":[1,{"b":null}]}`}
	rapid.Check(t, func(t *rapid.T) {
		doc := `{"history":` + strings.Join(rapid.SliceOfN(rapid.SampledFrom(alphabet), 1, 12).Draw(t, "parts"), "") +
			`,"id":"7","name":"n","level":1}`
		_, err := Extract(iotest.OneByteReader(strings.NewReader(doc)), 1<<20, "7")
		_, whole := extract(doc)
		require.Equalf(t, (whole == nil), (err == nil), "%s: byte by byte %v, at once %v", doc, err, whole)
		if valid := json.Valid([]byte(doc)); valid != (err == nil) && !repeats(doc) {
			t.Fatalf("%s: valid %v, extracted with %v", doc, valid, err)
		}
	})
}

// repeats reports whether the parts closed the document's object and began members of
// their own, which may be wrong in other ways than JSON.
func repeats(doc string) bool {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(doc), &m) != nil {
		return false
	}
	return string(m["id"]) != `"7"` || string(m["level"]) != "1" || len(m) != 4
}

// The canonical form has the meaning of the document, and is the same for all
// documents of that meaning, however they were written.
func TestCanonical(t *testing.T) {
	var value *rapid.Generator[any]
	value = rapid.Custom(func(t *rapid.T) any {
		switch rapid.IntRange(0, 7).Draw(t, "kind") {
		case 0:
			return rapid.MapOfN(rapid.StringN(0, 3, -1), rapid.Deferred(func() *rapid.Generator[any] { return value }), 0, 4).Draw(t, "object")
		case 1:
			return rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return value }), 0, 4).Draw(t, "array")
		case 2:
			return json.Number(rapid.SampledFrom([]string{"0", "-1", "1.50", "1e9", "12345678901234567890"}).Draw(t, "number"))
		case 3:
			return rapid.Bool().Draw(t, "word")
		case 4:
			return nil
		default:
			return rapid.String().Draw(t, "text")
		}
	})
	decode := func(t *rapid.T, text []byte) any {
		var v any
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		require.NoErrorf(t, d.Decode(&v), "%s", text)
		return v
	}
	rapid.Check(t, func(t *rapid.T) {
		want := map[string]any{"id": "7", "name": "n", "level": json.Number("1"), "x": value.Draw(t, "x"), "a": value.Draw(t, "a")}
		compact, err := json.Marshal(want)
		require.NoError(t, err)
		x, err := json.MarshalIndent(want["x"], " ", "\t")
		require.NoError(t, err)
		a, err := json.Marshal(want["a"])
		require.NoError(t, err)
		other := fmt.Sprintf(`{ "x":1, "n\u0061me":"n","x" : %s,"level":1,"a":%s ,"id":"7","history":{}}`, x, a)
		one, err := extract(string(compact))
		require.NoError(t, err)
		two, err := extract(other)
		require.NoError(t, err)
		require.Equalf(t, two.Hash, one.Hash, "%s comes to %s, and %s to %s", compact, one.Content, other, two.Content)
		require.Truef(t, reflect.DeepEqual(decode(t, one.Content), decode(t, compact)), "%s comes to %s", compact, one.Content)
	})
}

func FuzzExtract(f *testing.F) {
	f.Add([]byte(text("7", 3)))
	f.Add([]byte(`{"id":"7","name":"","level":0,"history":"\ud800"}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		d, err := Extract(bytes.NewReader(doc), 1<<16, "7")
		if err != nil {
			return
		}
		if !json.Valid(doc) || !json.Valid(d.Content) {
			t.Fatalf("%q is no JSON and was taken", doc)
		}
		again, err := Extract(bytes.NewReader(d.Content), 1<<17, "7")
		if err != nil || again.Hash != d.Hash {
			t.Fatalf("%q: what was kept, %q, comes to %q (%v)", doc, d.Content, again.Content, err)
		}
	})
}

// big is a document of 17 KB and a history of the rest.
func big(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"id":"7","name":"Artist 7","level":3,"updatedAt":"2026-01-02T03:04:05Z","attributes":{`)
	for i := 0; b.Len() < 17_000; i++ {
		fmt.Fprintf(&b, `"f%04d":%08d,`, i, 10_000_000+i*7919%89_999_999)
	}
	b.WriteString(`"last":0},"history":[`)
	for b.Len() < size {
		b.WriteString(`{"at":"2026-01-02T03:04:05Z","kind":"show","venue":"Hall 1234","attendance":1234,"encores":2,"note":""},`)
	}
	b.WriteString(`{}]}`)
	return b.Bytes()
}

// Values that are not stored are not held in memory: a history twenty times as long
// takes no more memory.
func TestExtractHoldsOnlyWhatItKeeps(t *testing.T) {
	allocated := func(doc []byte) uint64 {
		var before, after runtime.MemStats
		least := ^uint64(0)
		for range 3 { // other goroutines of the runtime allocate, too
			r := bytes.NewReader(doc)
			runtime.ReadMemStats(&before)
			_, err := Extract(r, 32<<20, "7")
			require.NoError(t, err)
			runtime.ReadMemStats(&after)
			least = min(least, after.TotalAlloc-before.TotalAlloc)
		}
		return least
	}
	small, large := allocated(big(100_000)), allocated(big(2_000_000))
	if large > small+100<<10 {
		t.Errorf("%d bytes allocated for a document of 2 MB, %d for one of 100 KB", large, small)
	}
}

func BenchmarkExtract(b *testing.B) {
	doc := big(300_000)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		d, err := Extract(bytes.NewReader(doc), 1<<20, "7")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := pack(d.Content); err != nil {
			b.Fatal(err)
		}
	}
}

func TestPack(t *testing.T) {
	d := document(t, "7", 3)
	packed, err := pack(d.Content)
	require.NoError(t, err)
	if got, err := unpack(packed, d.Hash); err != nil || !bytes.Equal(got, d.Content) {
		t.Errorf("unpacked %q, %v", got, err)
	}
	if _, err := unpack(packed, hashOf(nil)); err == nil {
		t.Error("content of another hash was taken")
	}
	if _, err := unpack(packed[:len(packed)/2], d.Hash); err == nil {
		t.Error("half of it was taken")
	}
}
