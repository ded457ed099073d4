/** What a client tells of itself: notices for logs and metrics, and spans if OpenTelemetry is there. */

/**
 * One thing that happened, for the hook `onNotice`: `request` (method, path, status, code, tries, seconds), `run` (key,
 * outcome, seconds), `renewed`, `lease_lost`, `not_released` (key), `server_started` (directory).
 */
export interface Notice {
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

interface Span {
  end(): void;
  recordException(error: unknown): void;
  setStatus(status: { code: number }): void;
}

interface OpenTelemetry {
  trace: {
    getTracer(name: string): {
      startActiveSpan<T>(name: string, options: { attributes: Record<string, unknown> }, work: (span: Span) => T): T;
    };
  };
  propagation: { inject(context: unknown, carrier: Record<string, string>): void };
  context: { active(): unknown };
}

const SPAN_ERROR = 2; // SpanStatusCode.ERROR

/** Spans, and the W3C header on requests, by OpenTelemetry if it is installed. */
export class Tracing {
  #api: OpenTelemetry | null | undefined;
  #loading: Promise<void> | undefined;

  get isLoaded(): boolean {
    return this.#api !== undefined;
  }

  /** Looks for it. */
  load(): Promise<void> {
    // Not a literal, so that a bundler does not ask for what is optional.
    const name = "@opentelemetry/api";
    this.#loading ??= import(/* @vite-ignore */ /* webpackIgnore: true */ name).then(
      (api: OpenTelemetry) => void (this.#api = api),
      () => void (this.#api = null),
    );
    return this.#loading;
  }

  /** A span around the work. */
  async span<T>(name: string, attributes: Record<string, unknown>, work: () => Promise<T>): Promise<T> {
    if (!this.isLoaded) await this.load();
    if (!this.#api) return work();
    return this.#api.trace.getTracer("once-client").startActiveSpan(name, { attributes }, async (span) => {
      try {
        return await work();
      } catch (error) {
        span.recordException(error);
        span.setStatus({ code: SPAN_ERROR });
        throw error;
      } finally {
        span.end();
      }
    });
  }

  /** Adds traceparent and tracestate of the current span. */
  inject(headers: Record<string, string>): void {
    this.#api?.propagation.inject(this.#api.context.active(), headers);
  }
}
