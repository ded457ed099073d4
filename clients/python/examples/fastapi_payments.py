"""A payment service whose POST takes effect once for each Idempotency-Key.

    ONCE_STORE=http://127.0.0.1:7600 uvicorn fastapi_payments:guarded
"""
import once
from fastapi import FastAPI
from pydantic import BaseModel

client = once.connect()
app = FastAPI()


class Payment(BaseModel):
    account: str
    cents: int


class Receipt(BaseModel):
    number: int
    cents: int


# What the card processor would do; the count shows how often it was really called.
@app.post("/payments", status_code=201)
async def pay(payment: Payment) -> Receipt:
    charged = client.awaitable().tally(f"charges-{payment.account}")
    return Receipt(number=(await charged.add(1)).value, cents=payment.cents)


# The same for a job that is no HTTP request: once for each invoice, for any caller.
@client.idempotent(key=lambda invoice: f"reminder-{invoice}", wait="10s", returns=Receipt)
async def remind(invoice: str) -> Receipt:
    once.current_attempt().effects.append("reminders", {"invoice": invoice})
    return Receipt(number=1, cents=0)


@app.post("/reminders/{invoice}")
async def send_reminder(invoice: str) -> Receipt:
    return await remind(invoice)


guarded = once.asgi(app, client)
