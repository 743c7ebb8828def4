package snstest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/uuid"
)

// Amazon's limits of a request.
const (
	mostEntries    = 10
	mostBytes      = 256 << 10
	mostAttributes = 10 // of a message that is delivered raw
)

func (s *Server) publishBatch(r *http.Request) (out result, err error) {
	s.mu.Lock()
	t, err := s.topic(r.Form.Get("TopicArn"))
	var subscriptions []subscription
	if err == nil {
		for _, one := range t.subscriptions {
			subscriptions = append(subscriptions, *one)
		}
	}
	s.mu.Unlock()
	if err != nil {
		return out, err
	}
	entries, err := entriesOf(r.Form)
	if err != nil {
		return out, err
	}
	for _, e := range entries {
		if fifo := strings.HasSuffix(t.arn, ".fifo"); fifo != (e.MessageGroupId != nil) || fifo != (e.MessageDeduplicationId != nil) {
			return out, invalid("The MessageGroupId and the MessageDeduplicationId are for FIFO topics, which need both")
		}
		out.Successful = append(out.Successful, member{Id: aws.ToString(e.Id), MessageId: uuid.NewString()})
	}
	for _, one := range subscriptions {
		if err := s.deliver(r.Context(), t.arn, one, entries); err != nil {
			return out, err
		}
	}
	return out, nil
}

func entriesOf(form url.Values) (all []types.SendMessageBatchRequestEntry, err error) {
	size := 0
	ids := map[string]bool{}
	for i := 1; form.Has("PublishBatchRequestEntries.member." + strconv.Itoa(i) + ".Id"); i++ {
		at := "PublishBatchRequestEntries.member." + strconv.Itoa(i) + "."
		e := types.SendMessageBatchRequestEntry{
			Id: aws.String(form.Get(at + "Id")), MessageBody: aws.String(form.Get(at + "Message")), MessageAttributes: map[string]types.MessageAttributeValue{},
		}
		if form.Get(at+"Message") == "" {
			return nil, invalid("Empty message")
		}
		for name, field := range map[string]**string{"MessageGroupId": &e.MessageGroupId, "MessageDeduplicationId": &e.MessageDeduplicationId} {
			if form.Has(at + name) {
				*field = aws.String(form.Get(at + name))
			}
		}
		size += len(*e.MessageBody)
		for j := 1; form.Has(at + "MessageAttributes.entry." + strconv.Itoa(j) + ".Name"); j++ {
			at := at + "MessageAttributes.entry." + strconv.Itoa(j) + "."
			value := types.MessageAttributeValue{DataType: aws.String(form.Get(at + "Value.DataType"))}
			if form.Has(at + "Value.BinaryValue") {
				if value.BinaryValue, err = base64.StdEncoding.DecodeString(form.Get(at + "Value.BinaryValue")); err != nil {
					return nil, invalid("a binary attribute")
				}
			} else {
				value.StringValue = aws.String(form.Get(at + "Value.StringValue"))
			}
			name := form.Get(at + "Name")
			e.MessageAttributes[name] = value
			size += len(name) + len(*value.DataType) + len(aws.ToString(value.StringValue)) + len(value.BinaryValue)
		}
		if ids[*e.Id] {
			return nil, refusal{http.StatusBadRequest, "BatchEntryIdsNotDistinct", "two entries have one id"}
		}
		ids[*e.Id] = true
		all = append(all, e)
	}
	switch {
	case len(all) == 0:
		return nil, refusal{http.StatusBadRequest, "EmptyBatchRequest", "there is no entry"}
	case len(all) > mostEntries:
		return nil, refusal{http.StatusBadRequest, "TooManyEntriesInBatchRequest", "there are too many entries"}
	case size > mostBytes:
		return nil, refusal{http.StatusBadRequest, "BatchRequestTooLong", "the entries are too long together"}
	}
	return all, nil
}

// deliver sends published messages to a queue, if its policy allows the topic.
func (s *Server) deliver(ctx context.Context, topicARN string, to subscription, entries []types.SendMessageBatchRequestEntry) error {
	name := to.queue[strings.LastIndexByte(to.queue, ':')+1:]
	found, err := s.client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	var none *types.QueueDoesNotExist
	if errors.As(err, &none) {
		return nil
	}
	if err != nil {
		return err
	}
	if !s.allows(aws.ToString(found.QueueUrl), topicARN) {
		return nil
	}
	var sent []types.SendMessageBatchRequestEntry
	for _, e := range entries {
		if to.attributes["RawMessageDelivery"] != "true" {
			envelope, err := json.Marshal(map[string]string{"Type": "Notification", "TopicArn": topicARN, "Message": aws.ToString(e.MessageBody)})
			if err != nil {
				return err
			}
			e.MessageBody, e.MessageAttributes = aws.String(string(envelope)), nil
		} else if len(e.MessageAttributes) > mostAttributes {
			continue
		}
		if !strings.HasSuffix(name, ".fifo") {
			e.MessageGroupId, e.MessageDeduplicationId = nil, nil
		}
		sent = append(sent, e)
	}
	if len(sent) == 0 {
		return nil
	}
	out, err := s.client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: found.QueueUrl, Entries: sent})
	if err == nil && len(out.Failed) > 0 {
		err = errors.New("the queue refuses a message: " + aws.ToString(out.Failed[0].Message))
	}
	return err
}
