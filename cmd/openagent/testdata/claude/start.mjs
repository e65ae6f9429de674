// Starting: flags, system prompts, agents, skills, schemas, titles, and what cannot be honoured.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { ask, assert, input, message, scenario, sdk, succeeded, z } from './harness.mjs'

const hello = [{ text: 'Hello.' }]

scenario('plain', { steps: hello, asked: ['You are an agent. Use your tools'], not: ['You are openagent'] }, async () => {
  const r = await ask('hi')
  succeeded(r, 'Hello.')
  assert.equal(r.of('user').length, 0, 'the prompt came back')
  for (const k of ['cwd', 'session_id', 'tools', 'mcp_servers', 'model', 'permissionMode', 'slash_commands', 'apiKeySource', 'claude_code_version', 'output_style', 'agents', 'skills', 'plugins', 'capabilities']) {
    assert.ok(k in r.init, k)
  }
  for (const k of ['stop_reason', 'total_cost_usd', 'usage', 'modelUsage', 'permission_denials', 'terminal_reason', 'num_turns', 'duration_ms', 'uuid', 'session_id']) {
    assert.ok(k in r.result, k)
  }
  assert.equal(r.result.stop_reason, 'end_turn')
  assert.equal(r.result.usage.server_tool_use.web_search_requests, 0)
  assert.equal(r.result.structured_output, undefined)
  const used = Object.values(r.result.modelUsage)
  assert.ok(used.length === 1 && used[0].contextWindow > 0 && used[0].webSearchRequests === 0)
})

scenario('preset prompt', { steps: hello, asked: ['You are openagent', 'Speak like a pirate'] }, async () => {
  succeeded(await ask('hi', { systemPrompt: { type: 'preset', preset: 'claude_code', append: 'Speak like a pirate.' } }))
})
scenario('text prompt', { steps: hello, asked: ['You count sheep'], not: ['You are openagent'] }, async () => {
  succeeded(await ask('hi', { systemPrompt: 'You count sheep.' }))
})
scenario('list prompt', { steps: hello, asked: ['First part', 'Second part'], not: ['DYNAMIC_BOUNDARY'] }, async () => {
  succeeded(await ask('hi', { systemPrompt: ['First part.', sdk.SYSTEM_PROMPT_DYNAMIC_BOUNDARY, 'Second part.'] }))
})

scenario('many flags', { steps: hello }, async () => {
  succeeded(await ask('hi', {
    allowedTools: ['Read', 'Bash(git log:*)'], disallowedTools: ['WebFetch'], permissionMode: 'acceptEdits', allowDangerouslySkipPermissions: true, maxTurns: 3, maxBudgetUsd: 2,
    settingSources: [], includePartialMessages: true, includeHookEvents: true, thinking: { type: 'disabled' }, strictMcpConfig: true, additionalDirectories: [process.env.HOME],
    persistSession: false, betas: ['context-1m-2025-08-07'], permissionPrompts: 'none', debug: true, extraArgs: { 'replay-user-messages': null }, title: 'Sheep',
  }))
})
scenario('effort and thinking', { steps: hello }, async () => {
  succeeded(await ask('hi', { thinking: { type: 'adaptive', display: 'summarized' }, effort: 'xhigh' }))
})
scenario('no tools', { steps: hello, not: ['"name":"Read"'] }, async () => {
  const r = await ask('hi', { tools: [] })
  succeeded(r)
  assert.ok(!r.init.tools.includes('Read'))
})
scenario('some tools', { steps: hello }, async () => {
  const r = await ask('hi', { tools: ['Read', 'Grep'] })
  succeeded(r)
  assert.deepEqual(r.init.tools.filter(t => ['Read', 'Grep', 'Bash'].includes(t)).sort(), ['Grep', 'Read'])
})
scenario('preset tools', { steps: hello }, async () => {
  const r = await ask('hi', { tools: { type: 'preset', preset: 'claude_code' } })
  succeeded(r)
  assert.ok(r.init.tools.includes('Bash'))
})
scenario('agents', { steps: [{ calls: [{ id: 'a1', name: 'Agent', input: { subagent_type: 'counter', description: 'count', prompt: 'count to 3' } }] }, { text: 'one two three' }, { text: 'done' }], asked: ['You count'] }, async () => {
  const r = await ask('hi', { agents: { counter: { description: 'counts', prompt: 'You count.', tools: ['Read'] } } })
  succeeded(r, 'done')
  assert.ok(r.init.agents.includes('counter'))
  const inner = r.of('assistant').find(m => m.parent_tool_use_id === 'a1')
  assert.equal(inner.subagent_type, 'counter')
  const started = r.of('system', 'task_started')[0]
  assert.equal(started.tool_use_id, 'a1')
  assert.equal(r.of('system', 'task_notification')[0].status, 'completed')
  const end = r.of('user').find(m => m.message.content[0].tool_use_id === 'a1')
  assert.equal(end.tool_use_result.status, 'completed')
  assert.equal(end.tool_use_result.agentType, 'counter')
})
scenario('schema', { steps: [{ text: '{"n": 3}' }] }, async () => {
  const r = await ask('count', { outputFormat: { type: 'json_schema', schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } } })
  succeeded(r)
  assert.deepEqual(r.result.structured_output, { n: 3 })
})
scenario('initialization result', { steps: hello }, async () => {
  let got
  const r = await ask('hi', {}, async (m, q) => {
    if (m.subtype !== 'init') return
    got = { all: await q.initializationResult(), commands: await q.supportedCommands(), models: await q.supportedModels(), agents: await q.supportedAgents(), account: await q.accountInfo() }
  })
  succeeded(r)
  assert.equal(got.models[0].value, 'default')
  assert.ok(got.models.length > 2 && got.commands.length > 0 && got.agents.length > 0)
  assert.ok(got.account.apiKeySource)
  assert.equal(got.all.output_style, 'default')
  assert.equal(typeof got.all.pid, 'number')
})

// What this program cannot honour ends it before the first prompt.
for (const [name, options, says] of [
  ['unknown hook event', { hooks: { PreSkillShellCommand: [{ hooks: [async () => ({})] }] } }, /PreSkillShellCommand/],
  ['alias of no server', { toolAliases: { Bash: 'Read' } }, /toolAliases/],
  ['unknown guard', { managedSettings: { sandbox: { network: { allowManagedDomainsOnly: true } } } }, /allowManagedDomainsOnly/],
  ['no config root', { projectConfigRoot: '/nowhere/at/all' }, /project-config-root/],
  ['bad agents', { agents: { 'bad name!': { description: 'x', prompt: 'y' } } }, /bad name/],
  ['bad schema', { outputFormat: { type: 'json_schema', schema: { type: 7 } } }, /json|schema/i],
]) {
  scenario(name, { steps: [], requests: 0 }, async () => {
    const r = await ask('hi', options)
    assert.ok(r.error, 'the query went on')
    assert.match(String(r.error) + r.stderr, says)
  })
}
scenario('no key', { steps: [], requests: 0 }, async () => {
  const r = await ask('hi', { env: { PATH: process.env.PATH, HOME: process.env.HOME } })
  assert.ok(r.error)
  assert.match(String(r.error) + r.stderr, /API key/)
})
scenario('bad matcher', { steps: [], requests: 0 }, async () => {
  const r = await ask('hi', { hooks: { PreToolUse: [{ matcher: '(', hooks: [async () => ({})] }] } })
  assert.ok(r.error)
  assert.equal(existsSync('written'), false)
})

const write = { calls: [{ id: 'w1', name: 'Write', input: { file_path: 'out.txt', content: 'x' } }] }
const free = { permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true }

for (const delivery of ['argv', 'initialize']) {
  scenario('managed settings by ' + delivery, { steps: [write, { text: 'done' }] }, async () => {
    const r = await ask('write', { ...free, settings: JSON.stringify({ permissions: { allow: ['Write'] } }), managedSettings: { permissions: { deny: ['Write'] } }, managedSettingsDelivery: delivery })
    succeeded(r, 'done')
    assert.equal(existsSync('out.txt'), false)
    assert.ok(!r.init.tools.includes('Write'))
  })
}
scenario('managed mode', { steps: [write, { text: 'done' }] }, async () => {
  const r = await ask('write', { settings: JSON.stringify({ permissions: { defaultMode: 'bypassPermissions' } }), managedSettings: { permissions: { defaultMode: 'default' } } })
  succeeded(r, 'done')
  assert.equal(existsSync('out.txt'), false)
})
scenario('config root', { steps: hello, files: { 'CLAUDE.md': 'Speak of turnips.' }, asked: ['Speak of turnips', 'knits'], not: ['sews'] }, async () => {
  mkdirSync('root/.claude/agents', { recursive: true })
  mkdirSync('.claude/agents', { recursive: true })
  const agent = name => `---\nname: ${name}\ndescription: ${name === 'knitter' ? 'knits' : 'sews'}\n---\nWork.\n`
  writeFileSync('root/.claude/agents/knitter.md', agent('knitter'))
  writeFileSync('.claude/agents/tailor.md', agent('tailor'))
  writeFileSync('root/.mcp.json', '{}')
  execFileSync(process.env.OPENAGENT, ['trust', 'add', 'root'])
  const r = await ask('hi', { projectConfigRoot: process.cwd() + '/root', settingSources: ['user', 'project'] })
  succeeded(r)
  assert.equal(r.init.cwd, process.cwd())
  assert.ok(r.init.agents.includes('knitter'), r.init.agents.join() + r.stderr)
  assert.ok(!r.init.agents.includes('tailor'))
})
scenario('tool aliases', { steps: [{ calls: [{ id: 'b1', name: 'Bash', input: { command: 'ls' } }] }, { text: 'done' }], asked: ['ran ls in the box'] }, async () => {
  const seen = []
  const box = sdk.createSdkMcpServer({ name: 'box', tools: [sdk.tool('run', 'runs', { command: z.string() }, async a => ({ content: [{ type: 'text', text: `ran ${a.command} in the box` }] }))] })
  const r = await ask('run', { mcpServers: { box }, toolAliases: { Bash: 'mcp__box__run' }, disallowedTools: ['Bash'], canUseTool: async (name, input) => { seen.push(name); return { behavior: 'allow', updatedInput: input } } })
  succeeded(r, 'done')
  assert.deepEqual(seen, ['mcp__box__run'])
  assert.ok(!r.init.tools.includes('Bash'))
})
scenario('alias whose tool is denied', { steps: [{ calls: [{ id: 'b1', name: 'Bash', input: { command: 'touch out.txt' } }] }, { text: 'done' }], not: ['in the box'] }, async () => {
  const box = sdk.createSdkMcpServer({ name: 'box', tools: [sdk.tool('run', 'runs', { command: z.string() }, async () => ({ content: [{ type: 'text', text: 'in the box' }] }))] })
  const r = await ask('run', { ...free, mcpServers: { box }, toolAliases: { Bash: 'mcp__box__run' }, disallowedTools: ['mcp__box__run'] })
  succeeded(r, 'done')
  assert.equal(existsSync('out.txt'), false)
})
scenario('model hooks', { steps: [{ text: 'one' }, { text: 'two' }, { text: 'three' }], asked: ['be brief, haiku', '"model":"claude-haiku-4-5"'], not: ['"model":"claude-opus'] }, async () => {
  const seen = []
  const p = input('hi')
  let n = 0, failed
  const hooks = {
    PreModelSwitch: [{ hooks: [async i => { seen.push(i); return i.to_model.includes('opus') ? { hookSpecificOutput: { hookEventName: 'PreModelSwitch', permissionDecision: 'deny', permissionDecisionReason: 'too dear' } } : {} }] }],
    PostModelSwitch: [{ matcher: 'haiku', hooks: [async i => { seen.push(i); return { hookSpecificOutput: { hookEventName: 'PostModelSwitch', additionalContext: 'be brief, haiku' } } }] }],
  }
  const r = await ask(p.stream, { hooks }, async (m, q) => {
    if (m.type !== 'result') return
    if (n === 0) await q.setModel('claude-opus-4-6').catch(e => { failed = e })
    if (n === 1) await q.setModel('claude-haiku-4-5')
    if (n++ === 2) return p.end()
    p.send('again')
  })
  succeeded(r, 'three')
  assert.match(String(failed), /too dear/)
  assert.deepEqual(seen.map(i => [i.hook_event_name, i.requested_model, i.source]), [['PreModelSwitch', 'claude-opus-4-6', 'sdk'], ['PreModelSwitch', 'claude-haiku-4-5', 'sdk'], ['PostModelSwitch', 'claude-haiku-4-5', 'sdk']])
  assert.ok(seen[1].context_tokens > 0 && seen[1].pricing === 'catalog' && seen[1].session_id === r.init.session_id)
})
scenario('dropped turn', { steps: [{ text: 'one' }, { text: 'two' }, { text: 'three' }], not: [] }, async () => {
  const id = n => `99999999-2222-4333-8444-55555555555${n}`
  const p = input()
  p.send({ ...message('first'), uuid: id(1) })
  let n = 0
  const a = await ask(p.stream, {}, m => {
    if (m.type !== 'result') return
    if (n++) return p.end()
    p.send({ ...message('second'), uuid: id(2) })
  })
  succeeded(a, 'two')
  const options = { resume: a.result.session_id, resumeSessionAt: a.of('assistant')[0].uuid, forkSession: true }
  const bad = await ask('again', { ...options, resumeDropsTurn: id(1) })
  assert.match(String(bad.error) + JSON.stringify(bad.result), /Resume rejected by --resume-drops-turn:/)
  assert.ok(bad.result.errors[0].startsWith('Resume rejected by --resume-drops-turn:'))
  succeeded(await ask('again', { ...options, resumeDropsTurn: id(2) }), 'three')
})
scenario('betas', { steps: hello }, async () => {
  const r = await ask('hi', { betas: ['context-1m-2025-08-07'], taskBudget: { total: 50000 }, thinking: { type: 'adaptive', display: 'omitted' }, planModeInstructions: 'Write a poem.' })
  succeeded(r)
  assert.deepEqual(r.init.betas, ['context-1m-2025-08-07'])
})
