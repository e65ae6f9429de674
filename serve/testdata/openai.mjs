// Uses the server as a model with OpenAI's client: node openai.mjs SDK ADDRESS TOKEN. Each line of
// the output is a result.
const [sdk, address, token] = process.argv.slice(2);
const { default: OpenAI } = await import(sdk);
const client = new OpenAI({ apiKey: token, baseURL: address + "/openai/v1" });
const show = (name, value) => console.log(JSON.stringify({ name, value }));

show("models", (await client.models.list()).data.map((m) => m.id));

const messages = [{ role: "system", content: "Be brief." }, { role: "user", content: "hello" }];
const first = await client.chat.completions.create({ model: "agent", messages });
show("first", { text: first.choices[0].message.content, finish: first.choices[0].finish_reason, usage: first.usage.total_tokens > 0 });

messages.push(first.choices[0].message, { role: "user", content: [{ type: "text", text: "look" }, { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } }] });
const stream = await client.chat.completions.create({ model: "agent", messages, stream: true, stream_options: { include_usage: true } });
let text = "", reasoning = "", finish = "", usage = null;
for await (const chunk of stream) {
	const c = chunk.choices[0];
	text += c?.delta.content ?? "";
	reasoning += c?.delta.reasoning_content ?? "";
	finish = c?.finish_reason ?? finish;
	usage = chunk.usage ?? usage;
}
show("second", { text, reasoning, finish, usage: usage.completion_tokens > 0 });

const parsed = await client.chat.completions.parse({ model: "agent", messages: [{ role: "user", content: "as JSON" }],
	response_format: { type: "json_schema", json_schema: { name: "answer", strict: true, schema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false } } } });
show("parsed", parsed.choices[0].message.parsed);

const failure = async (name, request, options) => {
	try {
		await (options ? new OpenAI({ apiKey: "wrong", baseURL: address + "/openai/v1", ...options }) : client).chat.completions.create(request);
		show(name, "no error");
	} catch (e) {
		show(name, { kind: e.constructor.name, status: e.status, type: e.type, code: e.code });
	}
};
const hi = [{ role: "user", content: "hi" }];
await failure("stranger", { model: "agent", messages: hi }, {});
await failure("remote image", { model: "agent", messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "http://127.0.0.1/x.png" } }] }] });
await failure("forced tool", { model: "agent", messages: hi, tools: [{ type: "function", function: { name: "f" } }], tool_choice: "required" });
await failure("failing run", { model: "agent", messages: hi });

const stopped = await client.chat.completions.create({ model: "agent", messages: hi, stream: true });
for await (const chunk of stopped) {
	if (chunk.choices[0]?.delta.content) break; // closes the connection
}
show("stopped", true);
