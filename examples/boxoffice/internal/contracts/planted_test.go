package contracts_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/app"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
)

// finds wants one of the faults to hold a text.
func finds(t *testing.T, faults []string, want string) {
	t.Helper()
	assert.Truef(t, slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, want) }), "found %q, want %q", faults, want)
}

// A file that is not OpenAPI is refused.
func TestPlantedOpenAPI(t *testing.T) {
	for want, plant := range map[string]func(*openapi3.T){
		"example": func(doc *openapi3.T) {
			doc.Components.Schemas["Login"].Value.Examples = []any{map[string]any{"memberId": 7}}
		},
		"info": func(doc *openapi3.T) { doc.Info = nil },
		"must define exactly all path parameters": func(doc *openapi3.T) { doc.Paths.Value("/api/shows/{id}").Get.Parameters = nil },
	} {
		if _, err := openapi(plant); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error about %s", err, want)
		}
	}
}

// A route more or less, on either side, is found.
func TestPlantedRoutes(t *testing.T) {
	f := readOpenAPI(t)
	served := []string{notFoundPage}
	for pattern := range f.operations {
		served = append(served, pattern)
	}
	if wrong := compareRoutes(f, served); len(wrong) > 0 {
		t.Fatalf("%q", wrong)
	}
	finds(t, compareRoutes(f, append(served, "GET /api/secret")), "GET /api/secret is served, and not in")
	lost := slices.DeleteFunc(slices.Clone(served), func(p string) bool { return p == "POST /api/payments" })
	finds(t, compareRoutes(f, lost), "has POST /api/payments, which nobody serves")
}

// An answer that the file does not have is found: another status, field, type, header
// or problem.
func TestPlantedAnswers(t *testing.T) {
	f := readOpenAPI(t)
	const show = `{"id":"show-1","title":"x","commentCount":1,"likeCount":1,"viewCount":1,"salesCount":1,"seats":{"total":1,"available":1,"held":0,"sold":0},"limits":{"held":6,"bought":6},` +
		`"startsAt":null,"doorsAt":null,"venue":null,"currency":"KRW","prices":[],"performers":[]`
	jsonType := http.Header{"Content-Type": {"application/json"}}
	problem := http.Header{"Content-Type": {"application/problem+json"}}
	for name, c := range map[string]struct {
		method, path string
		reply        reply
		want         string
	}{
		"sound":                   {"GET", "/api/shows/show-1", reply{200, jsonType, []byte(show + "}")}, ""},
		"a field more":            {"GET", "/api/shows/show-1", reply{200, jsonType, []byte(show + `,"secret":1}`)}, "secret"},
		"a field more, deep":      {"GET", "/api/shows/show-1", reply{200, jsonType, []byte(strings.Replace(show, `"held":0`, `"held":0,"lost":1`, 1) + "}")}, "lost"},
		"a field less":            {"GET", "/api/shows/show-1", reply{200, jsonType, []byte(`{"id":"show-1"}`)}, "title"},
		"another type":            {"GET", "/api/shows/show-1", reply{200, jsonType, []byte(strings.Replace(show, `"likeCount":1`, `"likeCount":"1"`, 1) + "}")}, "likeCount"},
		"another status":          {"GET", "/api/shows/show-1", reply{418, jsonType, []byte(show + "}")}, "does not know this status"},
		"another content type":    {"GET", "/api/shows/show-1", reply{200, http.Header{"Content-Type": {"text/html"}}, []byte(show + "}")}, "text/html"},
		"another problem":         {"GET", "/api/shows/show-9", reply{404, problem, []byte(`{"type":"/problems/seat-not-found","title":"x","status":404,"detail":"x"}`)}, "value must"},
		"a header less":           {"POST", "/api/payments", reply{202, jsonType, nil}, "Location"},
		"a body where none is":    {"POST", "/api/shows/show-1/like", reply{204, jsonType, []byte("{}")}, "no body"},
		"a redirect of its own":   {"GET", "/tickets", reply{307, http.Header{"Location": {"/"}}, nil}, "does not know this status"},
		"a redirect to nowhere":   {"GET", "/queue?event=show-1", reply{302, http.Header{}, nil}, "Location"},
		"a refusal in a new form": {"GET", "/api/seats/show-1", reply{403, jsonType, []byte(`{"error":"Go away","redirectTo":"/queue"}`)}, "error"},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), c.method, "http://office.test"+c.path, nil)
			require.NoError(t, err)
			o, input, err := f.find(req)
			require.NoError(t, err)
			err = answered(t.Context(), o, input, c.reply)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// A request that the file does not allow is found, and one that it does not know.
func TestPlantedRequests(t *testing.T) {
	f := readOpenAPI(t)
	for body, want := range map[string]string{
		`{"memberId":"ann"}`: "", `{"memberId":"ann","more":1}`: "more", `{"memberId":7}`: "memberId", `{}`: "memberId", `[]`: "want object",
	} {
		err := judgeRequest(t.Context(), f, call{method: "POST", path: "/api/login", body: body})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
	if err := judgeRequest(t.Context(), f, call{method: "GET", path: "/api/me/tickets"}); err == nil || !strings.Contains(err.Error(), "member is missing") {
		t.Errorf("without a sign-in: %v", err)
	}
	assert.Error(t, judgeRequest(t.Context(), f, call{method: "GET", path: "/api/secret"}), "a route that there is not is judged")
}

func judgeRequest(ctx context.Context, f *routeFile, c call) error {
	body, err := c.bytes()
	if err != nil {
		return err
	}
	req, err := c.request(ctx, "http://office.test", body)
	if err != nil {
		return err
	}
	_, input, err := f.find(req)
	if err != nil {
		return err
	}
	return valid(ctx, input, body)
}

// Unseen answers, and excuses without an answer, are found.
func TestPlantedCoverage(t *testing.T) {
	documented := []string{"getShow 200", "getShow 404 show-not-found", "getShow 500 internal"}
	seen := map[string]bool{"getShow 200": true, "getShow 404 show-not-found": true}
	excuses := []excuse{{"* 500 internal", "a fault of the program"}}
	if wrong := judgeCoverage(documented, seen, excuses); len(wrong) > 0 {
		t.Fatalf("%q", wrong)
	}
	finds(t, judgeCoverage(documented, seen, nil), "has not seen getShow 500 internal")
	finds(t, judgeCoverage(documented, map[string]bool{"getShow 200": true}, excuses), "has not seen getShow 404 show-not-found")
	finds(t, judgeCoverage(documented, seen, append(excuses, excuse{"getShow 200", ""})), "excuses getShow 200")
	finds(t, judgeCoverage(documented[:1], seen, nil), "seen getShow 404 show-not-found, which the file does not name")
	if isTest(t, "api", "TestNothingOfTheKind") || !isTest(t, "api", "TestBusy") {
		t.Error("tests are not told from what is none")
	}
}

// The frames of a stream or a socket are judged too.
func TestPlantedFrames(t *testing.T) {
	f := readOpenAPI(t)
	schemas, err := f.streamEvents()
	require.NoError(t, err)
	for name, c := range map[string][2]string{
		"does not name": {"secret", "{}"}, "more": {"evicted", `{"reason":"x","more":1}`}, "has data": {"ping", "x"}, "type": {"notification", `{"id":"x"}`},
	} {
		if err := judgeEvent(schemas, c[0], c[1]); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v, want %s", c, err, name)
		}
	}
	frames, err := f.socketFrames()
	require.NoError(t, err)
	for _, text := range []string{`{"type":"secret"}`, `{"type":"ready"}`, `{"type":"ready","after":0,"more":1}`, `x`} {
		if _, err := judgeFrame(frames, []byte(text)); err == nil {
			t.Errorf("the frame %s is let pass", text)
		}
	}
}

// A file that is not AsyncAPI is refused.
func TestPlantedAsyncAPI(t *testing.T) {
	for name, plant := range map[string]func(object){
		"no version":            func(doc object) { delete(doc, "asyncapi") },
		"a word of its own":     func(doc object) { doc["secret"] = 1 },
		"no such action":        func(doc object) { operationOf(doc, "sendPaymentEvents")["action"] = "shout" },
		"partitions in words":   func(doc object) { bindingOf(doc, "paymentEvents")["partitions"] = "three" },
		"an address of numbers": func(doc object) { channelOf(doc, "paymentEvents")["address"] = 7 },
	} {
		if _, err := asyncapi(plant); err == nil {
			t.Errorf("%s: it is let pass", name)
		}
	}
	f, err := asyncapi(func(doc object) {
		operationOf(doc, "sendPaymentEvents")["channel"] = object{"$ref": "#/channels/nothing"}
	})
	require.NoError(t, err)
	finds(t, deadEnds(f.doc, f.doc), "#/channels/nothing leads nowhere")
}

func channelOf(doc object, name string) object   { return doc["channels"].(object)[name].(object) }
func operationOf(doc object, name string) object { return doc["operations"].(object)[name].(object) }
func bindingOf(doc object, name string) object {
	return channelOf(doc, name)["bindings"].(object)["kafka"].(object)
}

// declaredBy reads from the file the declarations of an app that matches it.
func declaredBy(t *testing.T) ([]bus.Topic, []app.Consumer) {
	t.Helper()
	o := theOffice(t)
	return o.app.Topics(), o.app.Consumers()
}

// A topic, figure, group, type, retry or dead letter that differs is found.
func TestPlantedChannels(t *testing.T) {
	topics, consumers := declaredBy(t)
	for want, plant := range map[string]func(object){
		"declares the topic payment.events": func(doc object) { channelOf(doc, "paymentEvents")["address"] = "payments" },
		"has the channel payments":          func(doc object) { channelOf(doc, "paymentEvents")["address"] = "payments" },
		"like-events: the binding":          func(doc object) { bindingOf(doc, "likeEvents")["partitions"] = 4 },
		"dlq.payment: the binding":          func(doc object) { delete(bindingOf(doc, "dlqPayment"), "topicConfiguration") },
		"payment.events by event-payment-consumer": func(doc object) {
			operationOf(doc, "receivePaymentEventsByEventPaymentConsumer")["bindings"].(object)["kafka"].(object)["groupId"] = object{"type": "string", "const": "others"}
		},
		"which the app does not do": func(doc object) {
			operationOf(doc, "receivePaymentEventsByEventPaymentConsumer")["bindings"].(object)["kafka"].(object)["groupId"] = object{"type": "string", "const": "others"}
		},
		"handles [PaymentSuccess]": func(doc object) {
			op := operationOf(doc, "receivePaymentEventsByTicketServiceGroup")
			op["messages"] = op["messages"].([]any)[:1]
		},
		"retries 9 ×": func(doc object) {
			operationOf(doc, "receiveLikeEventsByLikeServiceGroup")["x-retry"].(object)["maxRetries"] = 9
		},
		"dead letters dlq.transfer": func(doc object) {
			operationOf(doc, "receivePaymentEventsByTicketServiceGroup")["x-dead-letters"] = object{"$ref": "#/channels/dlqTransfer"}
		},
		"like-events sent": func(doc object) {
			op := operationOf(doc, "sendLikeEvents")
			op["messages"] = op["messages"].([]any)[:1]
		},
	} {
		f, err := asyncapi(plant)
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		finds(t, compareChannels(f, topics, consumers), want)
	}
}

// A message that differs from its schema, or is never sent, is found.
func TestPlantedMessages(t *testing.T) {
	f := readAsyncAPI(t)
	channel := f.channels("transport")[events.Likes]
	liked := func(typ string, data any, change func(*event.Event)) *message.Message {
		e, err := events.New(typ, "like", "show-1", "ann", false, data)
		require.NoError(t, err)
		e.Time, e.CorrelationID, e.TargetID, e.RefID = time.UnixMilli(1).UTC(), "request-1", "show-1", "show-1"
		if change != nil {
			change(&e)
		}
		m, err := event.Structured{}.Encode(e)
		require.NoError(t, err)
		return m
	}
	good := events.Liked{MemberID: "ann", LikedAt: time.UnixMilli(1).UTC()}
	_, err := f.judgeMessage(events.Likes, channel, liked(events.ShowLiked, good, nil))
	require.NoError(t, err)
	header := liked(events.ShowLiked, good, nil)
	header.Metadata["secret"] = "x"
	envelope := liked(events.ShowLiked, good, nil)
	envelope.Payload = bytes.Replace(envelope.Payload, []byte(`"dataversion"`), []byte(`"secret":"x","dataversion"`), 1)
	for want, m := range map[string]*message.Message{
		"'more' not allowed":               liked(events.ShowLiked, map[string]any{"memberId": "ann", "likedAt": "2026-01-01T00:00:00Z", "more": 1}, nil),
		"missing property 'likedAt'":       liked(events.ShowLiked, map[string]any{"memberId": "ann"}, nil),
		"not valid date-time":              liked(events.ShowLiked, map[string]any{"memberId": "ann", "likedAt": "today"}, nil),
		"has no message ShowViewed":        liked(events.ShowViewed, good, nil),
		"missing property 'correlationid'": liked(events.ShowLiked, good, func(e *event.Event) { e.CorrelationID = "" }),
		"missing property 'targetid'":      liked(events.ShowLiked, good, func(e *event.Event) { e.TargetID = "" }),
		"missing property 'refid'":         liked(events.ShowLiked, good, func(e *event.Event) { e.RefID = "" }),
		"missing property 'actorid'":       liked(events.ShowLiked, good, func(e *event.Event) { e.ActorID = "" }),
		"/source":                          liked(events.ShowLiked, good, func(e *event.Event) { e.Source = "/others" }),
		"/aggregatetype":                   liked(events.ShowLiked, good, func(e *event.Event) { e.AggregateType = "show" }),
		"'secret' not allowed":             header,
		"/secret":                          envelope,
	} {
		if _, err := f.judgeMessage(events.Likes, channel, m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", m.Payload, err, want)
		}
	}
	finds(t, unseen(f, map[string]bool{}), "no PaymentSuccess was published on payment.events")
	finds(t, unseen(f, map[string]bool{}), "there was no dead letter")
	letter := message.NewMessage("1", []byte("x"))
	if _, err := f.judgeMessage("dlq.payment", f.channels("transport")["dlq.payment"], letter); err == nil || !strings.Contains(err.Error(), "dlq_reason") {
		t.Errorf("a dead letter without its headers: %v", err)
	}
	if err := f.judgeParts(admitted, &message.Message{Payload: []byte(`{"action":"admitted"}`), Metadata: message.Metadata{}}); err == nil {
		t.Error("a notice without its fields is let pass")
	}
	assert.Error(t, f.judge("components/schemas/ShowLiked", json.RawMessage(`{`)), "what is no JSON is let pass")
}
