// Package event is the envelope of all events of Millrace: one [Event] type, compatible with
// CloudEvents 1.0, and two ways to encode it as a Watermill message, [Structured] and [Binary].
//
// Make an event with [New], set further attributes, and pass it to an outbox or encode it.
// [Decode] reads a message of either mode and any binding, from Millrace or from any other
// CloudEvents producer. Every decoded event is valid and can be encoded again (in binary mode,
// unless its data is itself a CloudEvents document, which a reader would mistake for the
// event).
//
// # Attributes
//
//	field            attribute        kind        rules
//	ID               id               core        required; the idempotency key; a UUID v7 from New
//	Type             type             core        required
//	Source           source           core        required; a URI reference
//	Time             time             core        RFC 3339 with nanoseconds, UTC; the zero time is left out
//	AggregateID      subject          core        not blank; orders the event when PartitionKey is empty
//	DataContentType  datacontenttype  core        a media type; application/json when there is data and none is set
//	DataSchema       dataschema       core        an absolute URI
//	Data             data             core        JSON inline, other bytes as data_base64; the body in binary mode
//	AggregateType    aggregatetype    extension
//	PartitionKey     partitionkey     extension   overrides AggregateID for ordering
//	Version          dataversion      extension   "v1" from New
//	Sequence         sequence         extension   a decimal number, written as a string; read from a string or number
//	CorrelationID    correlationid    extension   the request that caused it; set by In and CausedBy
//	CausationID      causationid      extension   the event that caused it; set by In and CausedBy
//	ActorID          actorid          extension
//	TargetID         targetid         extension
//	RefID            refid            extension
//	Priority         priority         extension   HIGH or LOW
//	TraceParent      traceparent      extension   W3C trace context, carried as it is
//	TraceState       tracestate       extension   same
//	Extensions       any other name   extension   kept; booleans and integers in their canonical string form
//
// Attributes are text without control characters. An empty field is not written. An attribute
// that arrives as null, or empty (except for those in Extensions), becomes an empty field.
//
// # Correlation
//
// Events that were caused by one request share its correlation id. Middleware puts the id into
// the request's context with [WithCorrelation]; an outbox gives it to the events appended in
// that context. A consumer's context comes from [NewContext], so an event appended in a handler
// is a child of the event being handled: it has the same correlation id, and names its parent
// as its cause. None of this needs tracing.
//
// # Metadata
//
// Every encoded message has the event's ID as its UUID, a "content-type", and the event's key,
// if it has one, as "partitionkey": transports order by [Key] and need not know CloudEvents. In
// binary mode the attributes follow, named by the binding:
//
//	binding         example               values
//	KafkaBinding    ce_id                 UTF-8
//	HTTPBinding     ce-id                 percent-encoded; names are read in any case
//	AMQPBinding     cloudEvents_id        UTF-8; cloudEvents:id is read too
//
// # Guarantees
//
//	property                                               proven by
//	decode(encode(e)) is e, in both modes, every binding   TestRoundTripStructured, TestRoundTripBinary, TestRoundTripJSON
//	the CloudEvents SDK reads what Millrace writes         TestSDKReadsStructured, TestSDKReadsBinary
//	events of the SDK are read here, and can be passed on  TestReadsStructuredOfSDK, TestReadsBinaryOfSDK
//	header names are those of the bindings                 TestBinaryHeaders, TestBinaryThroughHTTP
//	either mode and any binding is recognised              TestDecodeRecognises
//	JSON data arrives byte for byte (white space around
//	it aside), other data bit for bit                      TestStructuredData, TestRoundTripBinary
//	equal events encode to equal documents                 TestStructuredDocument, TestRoundTripStructured
//	nothing beyond the size limit is parsed or written     TestStructuredMaxSize, TestBinaryMaxSize
//	decoding never panics; a decoded event is valid        FuzzDecodeStructured, FuzzDecodeBinary
//	an error names the attribute, is permanent, short, and
//	the same every time                                    TestValidateRefuses, TestStructuredRefuses, TestBinaryRefuses,
//	                                                       TestErrorsAreBounded, TestErrorsAreDeterministic
//	events inherit from their request or handled event     TestIn
//	no attribute can add a header or a line break          TestValidateRefuses
//	JSON is checked exactly as encoding/json does          FuzzCheckJSON, TestCheckJSONAgreesWithStandardLibrary
//
// # Failure modes
//
// Every error of Encode and Decode is permanent: the same bytes fail again, so a consumer
// dead-letters the message at once.
//
//   - A message beyond 1 MiB is refused before it is parsed; [DecodeUpTo] has another limit.
//     Encode applies the same limit, its MaxSize, so that the producer gets the error and not the
//     consumers.
//   - A message without the marks of a CloudEvent: [ErrNotEvent].
//   - A wrong, missing or repeated attribute, data that does not match datacontenttype, or a
//     broken document: the error begins with the attribute's name. Long names and values
//     from the message are truncated in the error.
//   - A batch, or an event format other than JSON, is refused by name.
//   - CloudEvents allows a sequence that is not a number and a priority of any text. Here both
//     have a meaning, so such an event is refused rather than misread.
//
// # Choices where the SDKs differ
//
//   - Data of a "+json" type is written as data_base64. The Go SDK cannot read it inline; every
//     SDK reads base64. Inline data is read as the format demands: a JSON string stays a JSON
//     string.
//   - Without a content type, data in binary mode or data_base64 is JSON if it parses as JSON,
//     else application/octet-stream.
//   - The Go SDK neither writes nor reads the percent-encoding that the HTTP binding demands.
//     Millrace reads its plain values, including a percent sign unless two hex digits follow.
//     The SDK reads Millrace's values percent-encoded, which differs only for values with
//     spaces, quotes, percent signs or letters beyond ASCII.
//   - Attribute names are lower-case. Upper case is read as lower case.
//   - Digits of a time beyond the nanosecond are dropped.
package event
