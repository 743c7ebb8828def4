package snstest

import (
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

const arnPrefix = "arn:aws:sns:elasticmq:000000000000:"

// refusal is an answer with an error.
type refusal struct {
	status        int
	code, message string
}

func (r refusal) Error() string { return r.code + ": " + r.message }

func invalid(format string, args ...any) error {
	return refusal{http.StatusBadRequest, "InvalidParameter", "Invalid parameter: " + fmt.Sprintf(format, args...)}
}

// member is an element of a list in an answer.
type member struct {
	TopicArn  string `xml:",omitempty"` //nolint:revive // the names of the protocol
	Key       string `xml:",omitempty"`
	Value     string `xml:",omitempty"`
	Id        string `xml:",omitempty"` //nolint:revive // the names of the protocol
	MessageId string `xml:",omitempty"` //nolint:revive // the names of the protocol
}

// result is the answer of an action.
type result struct {
	XMLName         xml.Name
	TopicArn        string   `xml:",omitempty"` //nolint:revive // the names of the protocol
	SubscriptionArn string   `xml:",omitempty"` //nolint:revive // the names of the protocol
	Topics          []member `xml:"Topics>member"`
	Tags            []member `xml:"Tags>member"`
	Successful      []member `xml:"Successful>member"`
	NextToken       string   `xml:",omitempty"`
}

// answer carries out the action of a form.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	action := r.Form.Get("Action")
	do := map[string]func(*http.Request) (result, error){
		"CreateTopic": s.createTopic, "ListTopics": s.listTopics, "ListTagsForResource": s.listTags, "DeleteTopic": s.deleteTopic,
		"Subscribe": s.subscribe, "SetSubscriptionAttributes": s.setSubscriptionAttributes, "PublishBatch": s.publishBatch,
	}[action]
	if do == nil {
		do = func(*http.Request) (result, error) {
			return result{}, refusal{http.StatusBadRequest, "InvalidAction", "the stand-in has no action " + action}
		}
	}
	if s.denies(action) {
		do = func(*http.Request) (result, error) {
			return result{}, refusal{http.StatusForbidden, "AuthorizationError", "not authorized to perform SNS:" + action}
		}
	}
	out, err := do(r)
	w.Header().Set("Content-Type", "text/xml")
	if err != nil {
		var why refusal
		if !errors.As(err, &why) {
			why = refusal{http.StatusInternalServerError, "InternalError", err.Error()}
		}
		w.WriteHeader(why.status)
		fmt.Fprintf(w, "<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>", why.code)
		xml.EscapeText(w, []byte(why.message)) //nolint:errcheck // the client sees what is missing
		fmt.Fprint(w, "</Message></Error></ErrorResponse>")
		return
	}
	out.XMLName.Local = action + "Result"
	text, err := xml.Marshal(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprintf(w, "<%sResponse>%s</%[1]sResponse>", action, text)
}

// pairs reads Attributes.entry.1.key=… and the like.
func pairs(form url.Values, list, key, value string) map[string]string {
	all := make(map[string]string)
	for i := 1; form.Has(list + "." + strconv.Itoa(i) + "." + key); i++ {
		at := list + "." + strconv.Itoa(i) + "."
		all[form.Get(at+key)] = form.Get(at + value)
	}
	return all
}

// within reports whether the requested attributes are already there.
func within(asked, there map[string]string) bool {
	for name, value := range asked {
		if there[name] != value {
			return false
		}
	}
	return true
}

func (s *Server) topic(arn string) (*topic, error) {
	i := slices.IndexFunc(s.topics, func(t *topic) bool { return t.arn == arn })
	if i < 0 {
		return nil, refusal{http.StatusNotFound, "NotFound", "Topic does not exist"}
	}
	return s.topics[i], nil
}

func (s *Server) createTopic(r *http.Request) (result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := r.Form.Get("Name")
	attributes, tags := pairs(r.Form, "Attributes.entry", "key", "value"), pairs(r.Form, "Tags.member", "Key", "Value")
	if fifo := attributes["FifoTopic"] == "true"; fifo != strings.HasSuffix(name, ".fifo") {
		return result{}, invalid("Topic Name")
	}
	if there, err := s.topic(arnPrefix + name); err == nil {
		switch {
		case !within(attributes, there.attributes):
			return result{}, invalid("Attributes Reason: Topic already exists with different attributes")
		case !within(tags, there.tags):
			return result{}, invalid("Tags Reason: Topic already exists with different tags")
		}
		return result{TopicArn: there.arn}, nil
	}
	s.topics = append(s.topics, &topic{arn: arnPrefix + name, attributes: attributes, tags: tags})
	return result{TopicArn: arnPrefix + name}, nil
}

func (s *Server) deleteTopic(r *http.Request) (result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	arn := r.Form.Get("TopicArn")
	s.topics = slices.DeleteFunc(s.topics, func(t *topic) bool { return t.arn == arn })
	return result{}, nil
}

func (s *Server) listTopics(r *http.Request) (out result, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := 0
	if token := r.Form.Get("NextToken"); token != "" {
		if from, err = strconv.Atoi(token); err != nil {
			return out, invalid("NextToken")
		}
	}
	for _, t := range s.topics[min(from, len(s.topics)):min(from+page, len(s.topics))] {
		out.Topics = append(out.Topics, member{TopicArn: t.arn})
	}
	if from+page < len(s.topics) {
		out.NextToken = strconv.Itoa(from + page)
	}
	return out, nil
}

func (s *Server) listTags(r *http.Request) (out result, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.topic(r.Form.Get("ResourceArn"))
	if err != nil {
		return out, err
	}
	for _, key := range slices.Sorted(maps.Keys(t.tags)) {
		out.Tags = append(out.Tags, member{Key: key, Value: t.tags[key]})
	}
	return out, nil
}

func (s *Server) subscribe(r *http.Request) (result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.topic(r.Form.Get("TopicArn"))
	if err != nil {
		return result{}, err
	}
	queue, attributes := r.Form.Get("Endpoint"), pairs(r.Form, "Attributes.entry", "key", "value")
	switch fifo := strings.HasSuffix(queue, ".fifo"); {
	case r.Form.Get("Protocol") != "sqs" || !strings.HasPrefix(queue, "arn:aws:sqs:"):
		return result{}, invalid("Endpoint")
	case fifo && !strings.HasSuffix(t.arn, ".fifo"):
		return result{}, invalid("Endpoint Reason: FIFO SQS Queues can not be subscribed to standard SNS topics")
	}
	for _, have := range t.subscriptions {
		if have.queue != queue {
			continue
		}
		if !within(attributes, have.attributes) {
			return result{}, invalid("Attributes Reason: Subscription already exists with different attributes")
		}
		return result{SubscriptionArn: have.arn}, nil
	}
	made := &subscription{arn: t.arn + ":" + uuid.NewString(), queue: queue, attributes: attributes}
	t.subscriptions = append(t.subscriptions, made)
	return result{SubscriptionArn: made.arn}, nil
}

func (s *Server) setSubscriptionAttributes(r *http.Request) (result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.topics {
		for _, have := range t.subscriptions {
			if have.arn == r.Form.Get("SubscriptionArn") {
				have.attributes[r.Form.Get("AttributeName")] = r.Form.Get("AttributeValue")
				return result{}, nil
			}
		}
	}
	return result{}, refusal{http.StatusNotFound, "NotFound", "Subscription does not exist"}
}
