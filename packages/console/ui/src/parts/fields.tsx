import { Field } from '@base-ui/react/field'
import { type HTMLInputTypeAttribute, type ReactElement, useState } from 'react'
import { capitalize } from './format.tsx'

interface Labelled {
  readonly label: string
  readonly hint?: string | undefined
  /** What is wrong with it. */
  readonly errors: readonly string[]
}

/** A control with its label, a hint, and what is wrong with it, which readers of screens hear with it. */
function Labelled({
  label,
  hint,
  errors,
  value,
  onChange,
  control,
  id,
}: Labelled & {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly control: ReactElement
  readonly id?: string | undefined
}) {
  return (
    <Field.Root className="field" invalid={errors.length > 0}>
      <Field.Label>{label}</Field.Label>
      <Field.Control {...(id === undefined ? {} : { id })} value={value} onValueChange={onChange} render={control} />
      {hint === undefined ? null : <Field.Description className="hint">{hint}</Field.Description>}
      {errors.length === 0 ? null : (
        <Field.Error match className="wrong">
          {errors.map(capitalize).join('. ')}
        </Field.Error>
      )}
    </Field.Root>
  )
}

/** A line of text. */
export const TextField = ({
  type = 'text',
  list,
  ...others
}: Labelled & {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly type?: HTMLInputTypeAttribute
  /** Id of the list of what is proposed. */
  readonly list?: string
  readonly id?: string
}) => (
  <Labelled
    {...others}
    control={
      <input
        type={type}
        {...(type === 'number' ? { min: 1 } : {})}
        {...(list === undefined ? {} : { list })}
        autoComplete="off"
        spellCheck={false}
      />
    }
  />
)

/** A whole number; absent where nothing is written. What is no number stays what it is, and is refused. */
export const CountField = ({
  value,
  onChange,
  ...others
}: Labelled & { readonly value: unknown; readonly onChange: (value: unknown) => void }) => (
  <TextField
    {...others}
    type="number"
    value={value === undefined ? '' : String(value)}
    onChange={(text) => onChange(text === '' ? undefined : Number(text))}
  />
)

/** One of some choices. */
export const ChoiceField = ({
  choices,
  ...others
}: Labelled & {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly choices: readonly (readonly [value: string, words: string])[]
}) => (
  <Labelled
    {...others}
    control={
      <select>
        {choices.some(([value]) => value === others.value) ? null : (
          <option value={others.value}>{others.value === '' ? 'choose' : others.value}</option>
        )}
        {choices.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    }
  />
)

/** Any of some choices; what else is there stays until somebody takes it away. */
export function Choices({
  choices,
  chosen,
  onChange,
  errors,
  words = (choice) => choice,
}: {
  readonly choices: readonly string[]
  readonly chosen: readonly string[]
  readonly onChange: (chosen: readonly string[]) => void
  readonly errors: readonly string[]
  readonly words?: (choice: string) => string
}) {
  const all = [...choices, ...chosen.filter((one) => !choices.includes(one))]
  return (
    <>
      <div className="choices">
        {all.map((choice) => (
          <label key={choice} className="check">
            <input
              type="checkbox"
              checked={chosen.includes(choice)}
              onChange={({ target }) =>
                onChange(all.filter((one) => (one === choice ? target.checked : chosen.includes(one))))
              }
            />
            {words(choice)}
          </label>
        ))}
      </div>
      <Wrong of={errors} />
    </>
  )
}

/** Texts, one a line. */
export function LinesField({
  lines,
  onChange,
  ...others
}: Labelled & { readonly lines: readonly string[]; readonly onChange: (lines: readonly string[]) => void }) {
  // A line that is not begun yet is none, and stays while somebody writes.
  const [text, setText] = useState('')
  return (
    <Labelled
      {...others}
      value={readLines(text).join('\n') === lines.join('\n') ? text : lines.join('\n')}
      onChange={(next) => {
        setText(next)
        onChange(readLines(next))
      }}
      control={<textarea rows={Math.min(6, Math.max(2, lines.length + 1))} spellCheck={false} />}
    />
  )
}

const readLines = (text: string): readonly string[] =>
  text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))

/** What is wrong with what stands above. */
export const Wrong = ({ of: errors }: { readonly of: readonly string[] }) =>
  errors.length === 0 ? null : (
    <p className="wrong" role="status">
      {errors.map(capitalize).join('. ')}
    </p>
  )
