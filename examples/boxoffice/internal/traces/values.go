package traces

import (
	"strconv"

	common "go.opentelemetry.io/proto/otlp/common/v1"
)

// text is an attribute's value; lists and maps, which this program does not make,
// have protobuf's form.
func text(v *common.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_BoolValue:
		return strconv.FormatBool(v.BoolValue)
	case *common.AnyValue_IntValue:
		return strconv.FormatInt(v.IntValue, 10)
	case *common.AnyValue_DoubleValue:
		return strconv.FormatFloat(v.DoubleValue, 'g', -1, 64)
	}
	return v.String()
}
