"""One question, asked once: what in a prompt is a conversation, and what only resembles one."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.contract.folding import folded
from estante.contract.oneshot import history_marks, is_history_name
from tests.growth import BETWEEN, ratio

CONVERSATIONS = [
    "\nUser: hi\nAssistant: hello",
    "Assistente: olá",
    "IA: Olá, como posso ajudar?",
    "Robô: pois não",
    "Agente: Bom dia.",
    "Usuário: qual o prazo?\nModelo: 30 dias.",
    "Model: Sure, here it is.",
    "Human: hi\nModel: It is 30 days.\nHuman: {query}",
    "Question: what is due?\nModel: 30 days.\nQuestion: {query}",
    "User: {query}\nModel:",
    "AI> hello",
    "Bot » hello",
    "[assistant] hello",
    "[USER] hi [ASSISTANT] hello",
    "[usuário] oi [assistente] olá",
    "Here is what we talked about before: the deadline.",
    "Conforme conversamos, o prazo é de 30 dias.",
    "【Assistant】hello",
    "### Response:",
    "### Resposta: ok",
    "### Assistant\nhello",
    '{"role": "assistant", "content": "hi"}',
    "{'role': 'model', 'parts': 'hi'}",
    '{"from": "gpt", "value": "hi"}',
    '{\\"role\\": \\"assistant\\"}',
    "- role: assistant\n  content: hi",
    '<turn role="assistant">hi</turn>',
    'AIMessage(content="hi")',
    "<|assistant|>",
    "<｜Assistant｜>",
    "<|im_start|>",
    "<s>[INST] hi [/INST]",
    "<<SYS>>",
    "<start_of_turn>model",
    '<assistant id="1">hi</assistant>',
    "</ai_message>",
    "<chat_history>",
    "<histórico>",
    "Assistant：hello",
    "As\u200bsistant: hello",
    "Аssistant: hello",
    "**Assistant:** hello",
    "__AI__: hello",
    "1. Assistant: hi",
    "[10:02] Bot: hi",
    "10:02 Assistant: hi",
    "🤖 Assistant: hi",
    "<b>Assistant:</b> hi",
    "| Assistant: hi",
    "Assistant (GPT-4): hi",
    "AI Assistant: hi",
    "Assistant's reply: hi",
    "Resposta da IA: 30 dias",
    "Assistente virtual: olá",
    "User: hi Assistant: hello User: {query}",
    "User: hi\\nAssistant: hello\\nUser: {query}",
    "User: hi<br>Assistant: hello",
    "User\nhi\nAssistant\nhello",
    "User: hi\nSupport: hello\nUser: {query}",
    "Cliente: oi\nAtendente: olá\nCliente: {query}",
    "Me: hi\nYou: hello\nMe: {query}",
    "Eu: oi\nVocê: olá\nEu: {query}",
    "{{ chat_history }}",
    "{{ messages | join }}",
    "{% for m in messages %}",
    "%(history)s",
    "$chat_history",
    "{{#each messages}}",
    "[CHAT HISTORY]",
    "Use the chat history.",
    "Use the chat-history below",
    "the history of our conversation",
    "Com base no histórico da conversa",
    "Com base no histórico da conversa",
    "historico do chat",
    "histórico de mensagens",
    "Considere a conversa acima.",
    "Considere a conversa anterior.",
    "Considere a conversa até aqui.",
    "Resuma o que foi dito até aqui.",
    "Leve em conta tudo o que foi perguntado até aqui",
    "Leve em conta as mensagens anteriores.",
    "Veja sua resposta anterior.",
    "Responda à pergunta de acompanhamento.",
    "Esta é uma pergunta de acompanhamento: {query}",
    "This is a follow-up question: {query}",
    "Given the following conversation and a follow up question, rephrase it.",
    "Answer the user's followup question",
    "When the user is asking a follow-up question, resolve pronouns.",
    "the conversation so far",
    "earlier in this conversation",
    "As you said earlier, it is so.",
    "Como você disse anteriormente",
    "Continue the conversation.",
    "Continue a conversa com o cliente.",
    "your last answer",
    "previous user messages",
    "prior   replies",
    "Do not contradict your previous replies.",
    "Do not answer without the chat history.",
    "Não responda sem o histórico da conversa.",
    "Com base no chat history\n",
    "Human: What is X?\n\nAssistant: X is Y.\n\nHuman: {query}",
    "### Human: hi\n### Assistant: yo",
    "<|user|>\nhi<|end|>\n<|assistant|>",
    "USER: hi ASSISTANT: yo</s>USER: {query}",
    "Q: hi\nBot: yo\nQ: {query}",
    "System: x\nUser: y\nAI: z",
    "**User**\nhi\n\n**Assistant**\nhello",
    "[user]: hi\n[assistant]: yo",
    "(assistant): yo",
    "Assistant → hello",
    '{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"yo"}]}',
    "messages:\n  - role: user\n    content: hi\n  - role: assistant\n    content: yo",
    "{'speaker': 'bot', 'text': 'x'}",
    "<message role='assistant'>x</message>",
    "<human>hi</human><ai>yo</ai>",
    "You previously answered: 30 days.",
    "Earlier you said 30 days.",
    "In your last reply you said so.",
    "The dialogue so far:",
    "Below is our chat so far",
    "Here is the conversation history:",
    "Here is the transcript of the conversation so far",
    "Conversation:\nUser: a\nAgent: b",
    "Turn 1 (assistant): hello",
    "T2 - Assistant: hi",
    "Assistant[1]: hi",
    "ASSISTANT RESPONSE: hi",
    "Resposta do assistente: oi",
    "Assistente - resposta anterior: x",
    "Bate-papo anterior:",
    "O usuário já perguntou isso antes.",
    "Na mensagem anterior o usuário disse",
    "Leve em consideração o histórico de mensagens do usuário",
    "Retome a conversa",
    "Continuando nossa conversa,",
    "Conforme discutimos acima na conversa",
    "Como eu disse antes",
    "Baseie-se nas respostas anteriores",
    "Contexto da conversa até agora:",
    "A conversa até aqui foi:",
    "CHATBOT: oi",
    "Atendente virtual: oi",
    "Usuário: oi\nAssistente: olá\nUsuário: {query}",
    "Pergunta 1: a\nIA: b\nPergunta 2: {query}",
    "{{#if history}}",
    "{% if chat_history %}",
    "<historico_da_conversa>",
    "Ａｓｓｉｓｔａｎｔ： hi",
    "Ássistente: x",
    "A\u200bI: hi",
    "Chat log:\nuser: a\nbot: b",
    "Model response: hi",
    "Modelo: Olá! Como posso ajudar?",
    "LLM: hi",
    "GPT: Hello",
    "Claude: I think",
    "Gemini: Sure!",
    "assistant\nhello\nuser\nhi",
]

ONE_QUESTION = [
    "Write to the [customer] in the name of the [agent].",
    "\nYou are a helpful assistant. Answer from the context only.",
    "You are a helpful assistant: answer briefly.",
    "Você é um assistente prestativo: responda só com o contexto.",
    "Você é a assistente virtual da Prefeitura. Responda em português.",
    "Model: X200\nSerial: 123",
    "Product data\nModel: X200 pump. Answer only from the manual.",
    "Model: the name on the plate of the machine\nQuestion: {query}",
    "Context of the product\n- Model: X200\n- Voltage: 220 V\nQuestion: {query}",
    "Question: {query}\nModel: X200",
    "Modelo: ZT-410\nPergunta: {query}",
    "Do not ask a follow-up question.",
    "Never ask follow-up questions.",
    "Do not end with a follow-up question; stop after the answer.",
    "Suggest one short follow-up question at the end.",
    "Não faça uma pergunta de acompanhamento.",
    "Sugira ao usuário uma pergunta de acompanhamento.",
    "Não faça perguntas de acompanhamento.",
    "Question: {query}\nAnswer:",
    "Pergunta: {query}\nResposta:",
    "Q: {query}\nA:",
    "User: {query}",
    "Human: {query}",
    "Usuário: {query}",
    "Exemplo\nPergunta: qual o prazo?\nResposta: 30 dias [1]\nPergunta: {query}\nResposta:",
    'Return JSON like {"answer": "...", "sources": [1]}.',
    'Return {"model": "X200", "answer": "..."}',
    'Return {"question": "...",\n"model": "X200"}',
    "There is no conversation history.",
    "You have no previous messages; answer this question alone.",
    "Não há mensagens anteriores.",
    "Responda sem histórico da conversa.",
    "Answer independently of any previous questions.",
    "Explain AI to a beginner.",
    "AI systems are documented below. The agent in this text is a chemical agent.",
    "Agents: see section 3",
    "Cleaning agent: water",
    "O agente público deve responder em 30 dias.",
    "Como o modelo: siga o formato abaixo.",
    "Follow the style guide. Follow up on open points.",
    "Cite each source as [1], [2]. Use <b>bold</b> and <source> tags.",
    "Use a tag like <answer> and close it with </answer>.",
    "The history of the company is in the context.",
    "O histórico escolar do aluno está no contexto.",
    "Transcript of the hearing:\n{rag_block}",
    "The previous version of the article is not in force.",
    "A versão anterior da lei não vale.",
    "O artigo anterior não se aplica.",
    "Até aqui vai o contexto.",
    "Agent::new() creates it.",
    "ai://host/path",
    "See [Agent](docs/agent.md).",
    "Role: assistant for the legal team",
    "Papel: assistente jurídico\nTarefa: responder",
    "Use the $price and %(name)s as they stand.",
    "Do not continue the conversation after the answer.",
    "Não continue a conversa depois da resposta.",
    "Bot traffic: 30%",
    "Chat with support: call 0800",
    "Table: | Model | Voltage |",
    "## Response format",
    "Conversation skills are not tested.",
    "Responda à pergunta do usuário com base nas mensagens do sistema.",
    "Se a resposta não estiver no contexto, diga que não sabe.",
    "IA generativa é o tema do contexto.",
    "Robots.txt: leave it",
    "The customer asks once: {query}",
    "You are an expert librarian. Use only the sources below.",
    'Use the retrieved passages to answer. If they are not enough, reply "I do not know".',
    "Reply in one paragraph. Do not apologise.",
    "Each passage has a header like [1] chunk_id=abc.",
    "Sources:\n{rag_block}\n\nUser question: {query}\n\nAnswer:",
    "Model number: {rag_block}",
    "Printer model: LX-300\nIssue: {query}",
    "Modelo do carro: Gol\nAno: 2010",
    "Model: use the exact product name.",
    "Agent name is not needed.",
    "Assistants must cite.",
    "AI-generated text is marked.",
    "Summarise the message below.",
    "Classify the conversation in the context as complaint or praise.",
    "The context holds support conversations from previous years.",
    "Answer questions about previous laws.",
    "Earlier versions of the norm are in the annex.",
    "Responda à pergunta abaixo usando o contexto.",
    "Você é um atendente da biblioteca.",
    "O modelo de resposta está abaixo: seja breve.",
    "Histórico da empresa: fundada em 1900.",
    "O histórico de versões está no anexo.",
    "Histórico de alterações da lei",
    "Memória de cálculo: ver anexo.",
    "A mensagem deve ser clara.",
    "Diálogo entre as partes é previsto no contrato.",
    "Os turnos de trabalho são de 8 horas.",
    "A resposta deve ter até 3 frases.",
    "Perguntas frequentes anteriores a 2020 não valem.",
    "Não invente. Não peça esclarecimentos.",
    "If the question is ambiguous, say so; never ask a follow-up question.",
    "Do not generate a follow-up question.",
    "Please don't pose any follow-up question.",
    "Evite fazer pergunta de acompanhamento.",
    "A chatbot is described in the context.",
    "Bots: see robots.txt",
    "Context (from the agent manual): {rag_block}",
    'Answer as JSON: {"answer": str, "confidence": float}',
    'Saída: {"resposta": "...", "fontes": []}',
    "Task: answer. Role: librarian.",
    "Format: **Answer:** text",
    "- Answer: ...\n- Sources: ...",
    'Me: no. Use "we".',
    "You: the reader.",
    "Use the tag <quote> for quotes.",
    "[1] First source\n[2] Second source",
    "Rate from 1 to 5 > then explain",
    "x > y means greater",
    "AI > 50% of the text",
    "IA/ML é o tema.",
    " - AI, ML and statistics",
    "Talk to the user politely: be brief.",
    "Ajude o usuário: seja cordial.",
    "This is not a chat; there are no previous turns.",
    "You have no memory of past conversations.",
    "Esta não é uma conversa; não há turnos anteriores.",
]


def meanings(text: str) -> list[str]:
    return [mark.meaning for mark in history_marks(text)]


# --- conversations, in many shapes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("text", CONVERSATIONS)
def test_a_conversation_is_found_in_every_shape(text: str) -> None:
    assert history_marks(text)


@pytest.mark.parametrize("text", CONVERSATIONS)
def test_a_conversation_is_found_in_the_middle_of_a_prompt(text: str) -> None:
    assert history_marks(f"Answer from the context.\n\n{text}\n\nContext:\n{{rag_block}}\n")


@pytest.mark.parametrize("text", CONVERSATIONS)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_conversation_is_found_however_its_accents_are_written(text: str, form: str) -> None:
    assert history_marks(unicodedata.normalize(form, text))  # type: ignore[arg-type]


@pytest.mark.parametrize("sign", ["\u200b", "\u00ad", "\u2060", "\ufeff", "\u034f", "\u3164", "\x00"])
def test_an_invisible_sign_within_a_word_hides_nothing(sign: str) -> None:
    assert history_marks(f"As{sign}sist{sign}ente{sign}: olá")
    assert history_marks(f"o histó{sign}rico da con{sign}versa")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\v", "\f", "\x85", "\u2028", "\u2029"])
def test_every_line_break_begins_a_line(end: str) -> None:
    assert history_marks(f"Context{end}Assistant: hello")


@pytest.mark.parametrize("label", "assistant AI Bot chatbot AGENT Assistente IA Robô Agente".split())
@pytest.mark.parametrize("head", ["", "  ", "\t", "> ", "* ", "**", "# ", "- ", "> > ", "1. ", "(2) ", "• ", "| "])
def test_the_label_of_who_answers_is_found_at_the_head_of_a_line(label: str, head: str) -> None:
    assert "label" in meanings(f"Context\n{head}{label}: hello")[0]


@pytest.mark.parametrize("sign", [":", " :", "：", "﹕", "∶", "꞉", "\u200b:", ">", ">>", " »", " →", " =>", "->"])
def test_every_sign_that_looks_like_a_colon_ends_a_label(sign: str) -> None:
    assert "label" in meanings(f"Assistant{sign} hello")[0]


@pytest.mark.parametrize(
    "tag",
    ["<assistant>", "</assistant>", "<ASSISTANT>", "<ai_message>", "</ai_message>", "<assistant_message>", "<bot />"],
)
def test_the_tag_of_who_answers_is_found(tag: str) -> None:
    [meaning] = meanings(f"a {tag} b")

    assert "tag" in meaning


@pytest.mark.parametrize(
    "sign",
    "<|im_start|> <|im_end|> [INST] [/INST] <|start_header_id|> <|end_header_id|> <|eot_id|> <|user|> <<SYS>>".split(),
)
def test_a_delimiter_of_a_chat_template_is_found(sign: str) -> None:
    assert "delimiter" in meanings(f"a {sign} b")[0]


def test_a_delimiter_in_small_letters_is_an_abbreviation() -> None:
    assert history_marks("[inst] is the institution") == []


@pytest.mark.parametrize("before", ["previous", "Prior", "earlier", "preceding", "past"])
@pytest.mark.parametrize(
    "what", "turn turns message messages exchange exchanges conversation reply replies response responses".split()
)
def test_earlier_turns_are_found_in_english(before: str, what: str) -> None:
    assert "earlier turns" in meanings(f"Use the {before}\n{what}.")[0]


@pytest.mark.parametrize(
    "phrase",
    [
        "mensagens anteriores",
        "mensagem anterior",
        "resposta anterior",
        "respostas anteriores",
        "turnos anteriores",
        "conversa anterior",
        "pergunta anterior",
        "anteriores mensagens",
        "interações prévias",
    ],
)
def test_earlier_turns_are_found_in_portuguese(phrase: str) -> None:
    assert "earlier turns" in meanings(f"Considere as {phrase}.")[0]


@pytest.mark.parametrize(
    "of", ["da conversa", "do chat", "de mensagens", "desta conversa", "da nossa conversa", "do diálogo"]
)
@pytest.mark.parametrize("word", ["histórico", "HISTÓRICO", "historico"])
def test_the_history_of_a_conversation_is_found_in_portuguese(word: str, of: str) -> None:
    assert "conversation history" in meanings(f"Use o {word} {of}.")[0]


@pytest.mark.parametrize("what", ["chat", "conversation", "message", "dialogue", "dialog"])
@pytest.mark.parametrize("between", [" ", "  ", "\n", "_", "-"])
def test_the_history_of_a_conversation_is_found_in_english(what: str, between: str) -> None:
    assert "conversation history" in meanings(f"Use the {what}{between}history.")[0]


# --- what only resembles one ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ONE_QUESTION)
def test_a_prompt_of_one_question_is_left_alone(text: str) -> None:
    assert history_marks(text) == []


@pytest.mark.parametrize("text", ONE_QUESTION)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_how_accents_are_written_makes_no_conversation(text: str, form: str) -> None:
    assert history_marks(unicodedata.normalize(form, text)) == []  # type: ignore[arg-type]


@pytest.mark.parametrize("label", ["Question", "User", "Human", "Pergunta", "Usuário", "Usuária", "Humano", "Cliente"])
def test_the_label_of_who_asks_is_legal(label: str) -> None:
    assert history_marks(f"{{rag_block}}\n{label}: {{query}}") == []


@pytest.mark.parametrize("label", ["Model", "Modelo", "**Model**", "- Model", "MODEL"])
@pytest.mark.parametrize("product", ["X200", "ZT-410, 220 V", "the name on the plate", "o nome na placa"])
def test_the_label_of_a_product_is_legal(label: str, product: str) -> None:
    assert history_marks(f"Data\n{label}: {product}\nSerial: 1\n\nQuestion: {{query}}") == []


@pytest.mark.parametrize("label", ["Model", "Modelo", "Claude", "ChatGPT", "GPT-4"])
@pytest.mark.parametrize(
    "text",
    ["User: a\n{}: X200", "Usuário: a\n{}: b\nUsuário: {{query}}", "Pergunta: a?\n{}: b", "{}: Sure, it is.", "a\n{}:"],
)
def test_the_same_label_is_a_turn_after_a_question_with_an_answer_or_at_the_end(label: str, text: str) -> None:
    assert "label" in meanings(text.format(label))[0]


@pytest.mark.parametrize(
    ("to_ask", "asked"),
    [
        ("Do not ask a follow-up question.", "Answer the follow-up question."),
        ("Suggest one short follow up question.", "The user asks a follow up question."),
        ("End with a followup question", "Rephrase the followup question"),
        ("Não faça uma pergunta de acompanhamento.", "Responda à pergunta de acompanhamento."),
        ("Sugira uma breve pergunta de seguimento.", "O usuário fez uma pergunta de seguimento."),
    ],
)
def test_a_follow_up_question_may_be_one_to_ask_and_not_one_that_was_asked(to_ask: str, asked: str) -> None:
    assert history_marks(to_ask) == []
    assert "follow-up" in meanings(asked)[0]


@pytest.mark.parametrize(
    ("none", "some"),
    [
        ("There is no conversation history.", "There is a conversation history."),
        ("Answer without any previous messages.", "Do not answer without any previous messages."),
        ("Não há histórico da conversa.", "No histórico da conversa está o nome."),
        ("Responda sem mensagens anteriores.", "Não responda sem as mensagens anteriores."),
    ],
)
def test_that_there_is_no_history_may_be_said(none: str, some: str) -> None:
    assert history_marks(none) == []
    assert history_marks(some)


# --- what is told --------------------------------------------------------------------------------------------------


def test_a_mark_is_told_in_the_words_of_the_text() -> None:
    [mark] = history_marks("Veja o hist\u200bórico  da\nconversa, por favor.")

    assert mark.found == "hist\u200bórico da conversa"


def test_a_long_mark_is_told_shortened() -> None:
    [mark] = history_marks(f"<assistant {'x' * 70}>")

    assert mark.found == f"<assistant {'x' * 49}..."


def test_of_each_kind_the_first_is_told() -> None:
    text = "Bot: a\nAssistant: b\n<|im_end|> and <|im_start|>\nthe chat history, the conversation history"

    assert [mark.found for mark in history_marks(text)] == ["Bot:", "<|im_end|>", "chat history"]


def test_a_placeholder_is_judged_by_its_name_alone() -> None:
    assert history_marks("{chat_history} {{messages}}") == []


# --- names of placeholders -----------------------------------------------------------------------------------------

HISTORY_NAMES = """
    history chat_history conversation conversation_history messages message_history turns previous_turns prior_turns
    transcript dialogue dialog dialogue_history context_history previous_messages prior_messages past_messages memory
    chatHistory CHAT_HISTORY
    historico histórico histórico_da_conversa historico_do_chat historicoDaConversa conversa conversa_anterior mensagens
    mensagens_anteriores turnos turnos_anteriores diálogo transcrição memória
""".split()


@pytest.mark.parametrize("name", HISTORY_NAMES)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_placeholder_for_a_conversation_is_known_by_its_name(name: str, form: str) -> None:
    assert is_history_name(unicodedata.normalize(form, name))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", ["query", "rag_block", "tone", "context", "user_message", "pergunta", "contexto", "idioma"]
)
def test_another_name_is_none_of_a_conversation(name: str) -> None:
    assert not is_history_name(name)


# --- any text ------------------------------------------------------------------------------------------------------


@given(st.text() | st.text("AIassistn: \n<>[]{}|*#_-\"'\\", max_size=60))
def test_any_text_can_be_looked_through_and_every_mark_stands_in_it(text: str) -> None:
    for mark in history_marks(text):
        assert mark.found.removesuffix("...") in " ".join(text.split())


@given(st.text())
def test_a_folded_text_knows_where_each_of_its_characters_came_from(text: str) -> None:
    fold = folded(text)

    assert len(fold.origins) == len(fold.text)
    assert list(fold.origins) == sorted(fold.origins)
    assert all(fold.original(at, at + 1) == text[origin] for at, origin in enumerate(fold.origins))


@given(st.text())
def test_folding_a_folded_text_changes_nothing(text: str) -> None:
    once = folded(text).text

    assert folded(once).text == once


PIECES = [
    "\n", "a:\n", "user: ", "model:\n", "<br>", "\\n", "<b>", "{", "{{a|", "{{ x ", "[", "*", "- ", "1", " ", "<|",
    "previous user ", "conversa a a a ", "you said a a ", "without any ", "ask a follow-up question ", "<a-history ",
    "role: ai, ",
]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_the_time_grows_as_the_text_does_and_not_as_its_square(piece: str) -> None:
    assert ratio(lambda size: history_marks(piece * (size // len(piece))), 8_000) < BETWEEN
