// A payment service whose POST takes effect once for each Idempotency-Key.
//
//     npm install express once-client && ONCE_STORE=http://127.0.0.1:7600 PORT=8080 node express_payments.mjs
import express from "express";
import { connect, currentAttempt, express as idempotency } from "once-client";

const client = connect();
const app = express();

app.use(idempotency(client)); // Before what reads bodies: it compares them.
app.use(express.json());

// What the card processor would do; the count shows how often it was really called.
app.post("/payments", async (request, response, next) => {
  try {
    const { account, cents } = request.body;
    const { value } = await client.tally(`charges-${account}`).add(1);
    response.status(201).json({ number: value, cents });
  } catch (error) {
    next(error);
  }
});

// The same for a job that is no HTTP request: once for each invoice, for any caller.
const remind = client.idempotent(
  (invoice) => `reminder-${invoice}`,
  async (invoice) => {
    currentAttempt().effects.append("reminders", { invoice });
    return { sent: invoice };
  },
  { wait: "10s" },
);

app.post("/reminders/:invoice", (request, response, next) => {
  remind(request.params.invoice).then((done) => response.json(done), next);
});

const server = app.listen(Number(process.env.PORT ?? 8080), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}`);
});
