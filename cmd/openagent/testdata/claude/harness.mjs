// What the scenarios share: the official SDK, a query that is read to its end, and checks.
import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const file = process.env.CLAUDE_SDK
export const sdk = await import(pathToFileURL(file))
export const { z } = await import(pathToFileURL(join(dirname(file), '../../zod/index.js')))
export { assert }

export const scenarios = {}

// scenario adds a scenario. about has the model's steps, and the texts that its requests hold or not.
export function scenario(name, about, run) {
  scenarios[name] = { about, run }
}

// ask reads a query to its end. each, unless missing, sees every message.
export async function ask(prompt, options = {}, each) {
  const messages = []
  let error, stderr = ''
  const q = sdk.query({ prompt, options: { pathToClaudeCodeExecutable: process.env.OPENAGENT, stderr: s => { stderr += s }, ...options } })
  try {
    for await (const m of q) {
      messages.push(m)
      if (each) await each(m, q)
    }
  } catch (e) { error = e }
  const of = (type, subtype) => messages.filter(m => m.type === type && (!subtype || m.subtype === subtype))
  return { messages, error, stderr, of, q, result: of('result').at(-1), init: of('system', 'init')[0] }
}

// input is a prompt that stays open until end is called.
export function input(...texts) {
  const queue = texts.map(message)
  let wake = () => {}, ended = false
  const stream = (async function* () {
    for (;;) {
      while (queue.length) yield queue.shift()
      if (ended) return
      await new Promise(r => { wake = r })
    }
  })()
  return { stream, send(m) { queue.push(typeof m === 'string' ? message(m) : m); wake() }, end() { ended = true; wake() } }
}

export function message(text) {
  return { type: 'user', message: { role: 'user', content: text }, parent_tool_use_id: null, session_id: '' }
}

// succeeded checks that a query ended well.
export function succeeded(r, text) {
  assert.equal(r.error, undefined, `${r.error}\n${r.stderr}`)
  assert.equal(r.result?.subtype, 'success', JSON.stringify(r.messages, null, 1) + r.stderr)
  assert.equal(r.result.is_error, false, JSON.stringify(r.result))
  if (text !== undefined) assert.equal(r.result.result, text)
}
