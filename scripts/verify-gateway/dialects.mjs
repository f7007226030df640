// The model APIs that agents use: where the tools and results are in a request, and the events of a call and of a final text.

const anthropic = {
  path: /\/v1\/messages$/,
  toolsIn: ({ tools = [] }) => tools,
  resultsIn: ({ messages }) =>
    messages
      .flatMap(({ content }) => (Array.isArray(content) ? content : []))
      .filter(({ type }) => type === 'tool_result'),
  call: ({ name }, args) =>
    anthropicEvents(
      { type: 'tool_use', id: 'toolu_1', name, input: {} },
      { type: 'input_json_delta', partial_json: JSON.stringify(args) },
      'tool_use',
    ),
  finish: (text) => anthropicEvents({ type: 'text', text: '' }, { type: 'text_delta', text }, 'end_turn'),
}

function anthropicEvents(content_block, delta, stop_reason) {
  const usage = { input_tokens: 1, output_tokens: 1 }
  const about = { id: 'msg_1', type: 'message', role: 'assistant', model: 'verify', content: [], usage }
  return [
    { type: 'message_start', message: { ...about, stop_reason: null, stop_sequence: null } },
    { type: 'content_block_start', index: 0, content_block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ]
}

const gemini = {
  path: /:streamGenerateContent$/,
  toolsIn: ({ tools = [] }) => tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations),
  resultsIn: ({ contents }) =>
    contents.flatMap(({ parts }) => parts).flatMap(({ functionResponse }) => functionResponse ?? []),
  call: ({ name }, args) => [geminiAnswer({ functionCall: { name, args } })],
  finish: (text) => [geminiAnswer({ text })],
}

function geminiAnswer(part) {
  const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 }
  return {
    candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
    usageMetadata,
  }
}

/** Codex offers the tools of a server inside a namespace, and requires it in the call. */
const responses = {
  path: /\/responses$/,
  toolsIn: ({ tools = [] }) =>
    tools
      .flatMap((tool) =>
        tool.type === 'namespace' ? tool.tools.map(({ name }) => ({ name, namespace: tool.name })) : tool,
      )
      .filter(({ name }) => name !== undefined),
  resultsIn: ({ input }) => input.filter(({ type }) => type === 'function_call_output'),
  call: ({ name, namespace }, args) => {
    const where = namespace === undefined ? {} : { namespace }
    const call = {
      type: 'function_call',
      id: 'fc_1',
      call_id: 'call_1',
      name,
      ...where,
      arguments: JSON.stringify(args),
    }
    return responsesEvents(call)
  },
  finish: (text) => {
    const content = [{ type: 'output_text', text, annotations: [] }]
    return responsesEvents({ type: 'message', id: 'm_1', role: 'assistant', content })
  },
}

function responsesEvents(item) {
  const usage = {
    input_tokens: 1,
    input_tokens_details: null,
    output_tokens: 1,
    output_tokens_details: null,
    total_tokens: 2,
  }
  return [
    { type: 'response.created', response: { id: 'resp_1' } },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { id: 'resp_1', output: [item], usage } },
  ]
}

const chat = {
  path: /\/chat\/completions$/,
  toolsIn: ({ tools = [] }) => tools.map((tool) => tool.function),
  resultsIn: ({ messages }) => messages.filter(({ role }) => role === 'tool'),
  call: ({ name }, args) => {
    const call = {
      index: 0,
      id: 'call_1',
      type: 'function',
      function: { name, arguments: JSON.stringify(args) },
    }
    return chatEvents({ tool_calls: [call] }, 'tool_calls')
  },
  finish: (content) => chatEvents({ content }, 'stop'),
}

function chatEvents(delta, finish_reason) {
  const chunk = (choice) => ({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'verify',
    choices: [{ index: 0, ...choice }],
  })
  return [
    chunk({ delta: { role: 'assistant', ...delta }, finish_reason: null }),
    chunk({ delta: {}, finish_reason }),
    '[DONE]',
  ]
}

export const DIALECTS = [anthropic, gemini, responses, chat]
