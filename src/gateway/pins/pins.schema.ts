import * as Type from 'typebox'

const Approval = Type.Object(
  {
    hash: Type.Optional(
      Type.String({
        pattern: '^[0-9a-f]{64}$',
        expected: 'the hash of a tool, 64 hexadecimal digits',
        description:
          'Of the definition that you have read: if the tool is another by now, nothing is approved',
      }),
    ),
  },
  { additionalProperties: false, examples: [{}] },
)
export const ApproveInput = Type.Union([Approval, Type.Null()], { examples: [{}] })
