package contracts_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/app"
)

const (
	asyncapiFile   = "../../../../docs/asyncapi.yaml"
	asyncapiSchema = "testdata/asyncapi/3.0.0.json"
)

// object is one of the AsyncAPI file.
type object = map[string]any

// eventFile is the AsyncAPI file, as a test uses it.
type eventFile struct {
	doc     object
	schemas *jsonschema.Compiler // strict: an unknown field is a failure
}

// asyncapi reads the file, changed before it is judged by change.
func asyncapi(change ...func(object)) (*eventFile, error) {
	text, err := os.ReadFile(asyncapiFile)
	if err != nil {
		return nil, err
	}
	var doc object
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	for _, c := range change {
		c(doc)
	}
	plain, err := asJSON(doc)
	if err != nil {
		return nil, err
	}
	if err := judgeAsyncAPI(plain); err != nil {
		return nil, err
	}
	f := &eventFile{doc: plain.(object), schemas: jsonschema.NewCompiler()}
	f.schemas.AssertFormat()
	strictEvents(plain)
	return f, f.schemas.AddResource("asyncapi.json", plain)
}

// asJSON is a value as a JSON decoder makes it, the form that schemas judge.
func asJSON(v any) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(text))
}

// judgeAsyncAPI judges the file by the specification's own schema.
func judgeAsyncAPI(doc any) error {
	text, err := os.Open(asyncapiSchema)
	if err != nil {
		return err
	}
	defer text.Close()
	schema, err := jsonschema.UnmarshalJSON(text)
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7)
	if err := c.AddResource("3.0.0.json", schema); err != nil {
		return err
	}
	compiled, err := c.Compile("3.0.0.json")
	if err != nil {
		return err
	}
	return compiled.Validate(doc)
}

// strictEvents closes every schema: only its own properties are permitted. An event's
// envelope consists of two schemas, and so it is closed where they are combined.
func strictEvents(doc any) {
	components := doc.(object)["components"].(object)
	for name, s := range components["schemas"].(object) {
		if name != "CloudEvent" {
			closeObjects(s)
		}
	}
	for _, m := range components["messages"].(object) {
		if payload, ok := m.(object)["payload"].(object); ok && payload["allOf"] != nil {
			payload["unevaluatedProperties"] = false
		}
	}
}

func closeObjects(v any) {
	switch x := v.(type) {
	case object:
		if _, ok := x["properties"].(object); ok && x["additionalProperties"] == nil {
			x["additionalProperties"] = false
		}
		for _, inner := range x {
			closeObjects(inner)
		}
	case []any:
		for _, inner := range x {
			closeObjects(inner)
		}
	}
}

// judge judges a value by a schema of the file, such as components/schemas/Shared.
func (f *eventFile) judge(path string, v any) error {
	schema, err := f.schemas.Compile("asyncapi.json#/" + path)
	if err != nil {
		return err
	}
	plain, err := asJSON(v)
	if err != nil {
		return err
	}
	return schema.Validate(plain)
}

func readAsyncAPI(t *testing.T) *eventFile {
	t.Helper()
	f, err := asyncapi()
	require.NoError(t, err)
	return f
}

// TestAsyncAPI: the file is AsyncAPI 3.0, its references lead somewhere, and its
// examples are valid by its schemas.
func TestAsyncAPI(t *testing.T) {
	f := readAsyncAPI(t)
	for _, wrong := range deadEnds(f.doc, f.doc) {
		t.Error(wrong)
	}
	for name, m := range f.doc["components"].(object)["messages"].(object) {
		examples, _ := m.(object)["examples"].([]any)
		if name != "DeadLetter" && len(examples) == 0 {
			t.Errorf("the message %s has no example", name)
		}
		for _, e := range examples {
			for part, v := range e.(object) {
				if part != "headers" && part != "payload" {
					continue
				}
				assert.NoErrorf(t, f.judge("components/messages/"+name+"/"+part, v), "the example of %s", name)
			}
		}
	}
}

// deadEnds are the references without a target.
func deadEnds(doc object, v any) (wrong []string) {
	switch x := v.(type) {
	case object:
		for name, inner := range x {
			if to, ok := inner.(string); ok && name == "$ref" {
				if follow(doc, to) == nil {
					wrong = append(wrong, to+" leads nowhere")
				}
				continue
			}
			wrong = append(wrong, deadEnds(doc, inner)...)
		}
	case []any:
		for _, inner := range x {
			wrong = append(wrong, deadEnds(doc, inner)...)
		}
	}
	return wrong
}

// follow is the target of a reference, nil for none.
func follow(doc object, ref string) object {
	at := doc
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		at, _ = at[part].(object)
	}
	return at
}

func (f *eventFile) ref(v any) object {
	to, _ := v.(object)
	ref, _ := to["$ref"].(string)
	return follow(f.doc, ref)
}

// lastOf is the last part of a reference.
func lastOf(v any) string {
	to, _ := v.(object)
	ref, _ := to["$ref"].(string)
	return ref[strings.LastIndexByte(ref, '/')+1:]
}

// channels are the channels of the app's transport, by their address.
func (f *eventFile) channels(server string) map[string]object {
	all := map[string]object{}
	for _, c := range f.doc["channels"].(object) {
		channel := c.(object)
		if lastOf(channel["servers"].([]any)[0]) == server {
			all[channel["address"].(string)] = channel
		}
	}
	return all
}

// TestChannels: topics, partitions, retention, groups, the events of each, retries
// and dead letters are as the app declares them.
func TestChannels(t *testing.T) {
	o := theOffice(t)
	for _, wrong := range compareChannels(readAsyncAPI(t), o.app.Topics(), o.app.Consumers()) {
		t.Error(wrong)
	}
}

func compareChannels(f *eventFile, topics []bus.Topic, consumers []app.Consumer) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	channels := f.channels("transport")
	declared := map[string]bool{}
	for _, topic := range topics {
		declared[topic.Name] = true
		channel, ok := channels[topic.Name]
		if !ok {
			say("the app declares the topic %s, which is not in docs/asyncapi.yaml", topic.Name)
			continue
		}
		if got, want := kafka(channel), wantedKafka(topic); !reflect.DeepEqual(got, want) {
			say("%s: the binding is %v, and the app declares %v", topic.Name, got, want)
		}
	}
	for name := range channels {
		if !declared[name] {
			say("docs/asyncapi.yaml has the channel %s, which the app does not declare", name)
		}
	}
	wrong = append(wrong, compareGroups(f, consumers)...)
	slices.Sort(wrong)
	return wrong
}

// kafka are the figures of a channel's binding.
func kafka(channel object) map[string]string {
	bindings, _ := channel["bindings"].(object)
	binding, _ := bindings["kafka"].(object)
	figures := map[string]string{"topic": fmt.Sprint(binding["topic"]), "partitions": fmt.Sprint(binding["partitions"])}
	if c, ok := binding["topicConfiguration"].(object); ok {
		figures["retention.ms"] = fmt.Sprint(c["retention.ms"])
	}
	return figures
}

func wantedKafka(t bus.Topic) map[string]string {
	figures := map[string]string{"topic": t.Name, "partitions": fmt.Sprint(t.Partitions)}
	if t.Retention > 0 {
		figures["retention.ms"] = fmt.Sprint(t.Retention.Milliseconds())
	}
	return figures
}

// compareGroups compares the operations that receive with the consumers, and those on
// dead letters with the dead letter topics.
func compareGroups(f *eventFile, consumers []app.Consumer) (wrong []string) {
	want, got := map[string]string{}, map[string]string{}
	sent := map[string][]string{}
	for _, c := range consumers {
		want[c.Topic+" by "+c.Group] = fmt.Sprintf("handles %v, retries %s, dead letters %s", c.Types, retries(c.Retry), c.DeadLetters)
		want[c.DeadLetters+" by "+driver.RedriveGroup] = "handles [DeadLetter]"
		sent[c.Topic] = append(sent[c.Topic], c.Types...)
	}
	for topic, types := range sent {
		slices.Sort(types)
		want[topic+" sent"] = fmt.Sprint(slices.Compact(types))
	}
	for _, v := range f.doc["operations"].(object) {
		op := v.(object)
		channel := f.ref(op["channel"])
		if lastOf(channel["servers"].([]any)[0]) != "transport" {
			continue
		}
		var types []string
		for _, m := range op["messages"].([]any) {
			types = append(types, lastOf(m))
		}
		slices.Sort(types)
		address := fmt.Sprint(channel["address"])
		if op["action"] == "send" {
			got[address+" sent"] = fmt.Sprint(types)
			continue
		}
		bindings, _ := op["bindings"].(object)
		binding, _ := bindings["kafka"].(object)
		group, _ := binding["groupId"].(object)
		says := fmt.Sprintf("handles %v", types)
		if r, ok := op["x-retry"].(object); ok {
			says += fmt.Sprintf(", retries %v × %v %v up to %v, dead letters %v", r["maxRetries"], r["initial"], r["multiplier"], r["max"], f.ref(op["x-dead-letters"])["address"])
		}
		got[fmt.Sprintf("%s by %v", address, group["const"])] = says
	}
	for name, says := range want {
		if got[name] != says {
			wrong = append(wrong, fmt.Sprintf("%s: docs/asyncapi.yaml says %q, and the app %q", name, got[name], says))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			wrong = append(wrong, fmt.Sprintf("docs/asyncapi.yaml has %s, which the app does not do", name))
		}
	}
	return wrong
}

func retries(p bus.RetryPolicy) string {
	p = withDefaults(p)
	return fmt.Sprintf("%d × %v %v up to %v", p.MaxRetries, p.Backoff.Initial, p.Backoff.Multiplier, p.Backoff.Max)
}

// withDefaults is a policy as the bus takes it.
func withDefaults(p bus.RetryPolicy) bus.RetryPolicy {
	usual := bus.DefaultRetry()
	if p.MaxRetries == 0 {
		p.MaxRetries = usual.MaxRetries
	}
	if p.Backoff == (bus.Backoff{}) {
		p.Backoff = usual.Backoff
	}
	p.Backoff.Initial, p.Backoff.Max = p.Backoff.Initial.Round(time.Millisecond), p.Backoff.Max.Round(time.Millisecond)
	return p
}
