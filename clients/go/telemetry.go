package once

import (
	"context"
	"net/http"
)

// Notice is one thing that happened, for the hook OnNotice:
// request (method, path, status, code, tries, seconds), run (key, outcome, seconds), renewed (key), lease_lost (key,
// reason), not_released (key, code), follow_ended (stream, code), server_started (directory), answer_not_stored (key, code).
type Notice struct {
	Name   string
	Fields map[string]any
}

// Tracing makes spans and passes them on. With OpenTelemetry, Start is the tracer's Start, and Inject is
// otel.GetTextMapPropagator().Inject(ctx, propagation.HeaderCarrier(header)).
type Tracing interface {
	// Start begins a span. The context that it returns carries it; end ends it, with the error if there was one.
	Start(ctx context.Context, name string, attributes map[string]string) (with context.Context, end func(error))
	// Inject adds the W3C headers of the span in ctx.
	Inject(ctx context.Context, header http.Header)
}

type traceKey struct{}

type traceHeaders struct{ parent, state string }

// WithTraceparent passes a W3C traceparent on with every request that is made under the context. Where Options.Tracing is
// given, that decides. Middleware does this with the header of the request.
func WithTraceparent(ctx context.Context, traceparent, tracestate string) context.Context {
	if !isPrintable(traceparent) || !isPrintable(tracestate) || traceparent == "" {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, traceHeaders{traceparent, tracestate})
}

func (c *Client) inject(ctx context.Context, header http.Header) {
	if c.options.Tracing != nil {
		c.options.Tracing.Inject(ctx, header)
		return
	}
	if given, has := ctx.Value(traceKey{}).(traceHeaders); has {
		header.Set("Traceparent", given.parent)
		if given.state != "" {
			header.Set("Tracestate", given.state)
		}
	}
}

func (c *Client) span(ctx context.Context, name, key string) (context.Context, func(error)) {
	if c.options.Tracing == nil {
		return ctx, func(error) {}
	}
	return c.options.Tracing.Start(ctx, name, map[string]string{"once.key": key})
}

// A hook that panics harms nothing.
func (c *Client) tell(name string, fields map[string]any) {
	if c.options.OnNotice == nil {
		return
	}
	defer func() { _ = recover() }()
	c.options.OnNotice(Notice{name, fields})
}
