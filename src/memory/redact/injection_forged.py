"""
More signs of `memory.redact.injection`: what passes itself off as something else than a memory.

Ends of a quotation, turns of a conversation, calls of tools, ranks and permissions, and addresses to machines. Where
developers write the same to each other, a sign asks for more: the place of the words in their sentence, or what follows.
"""

from __future__ import annotations

from memory.redact.injection_signs import Sign

_START = r"(?:^|\n|[.!?:;\]>)*\"-] ?|\b(?:and|then|now|so) )"
_LINE = r"(?:^|\n)"
_USER = r"(?:the |your )?(?:user|human|operator|developer)"
_HARM = (
    r"(?:you (?:are (?:now|no longer)|now|must (?!have\b|install\b|be on\b|set\b)|will now|have been)\b|your (?:new|real|true|only)\b|ignore\b|disregard\b|forget\b"
    r"|from now on\b|the (?:user|assistant|human|operator) (?:has|is|wants|asked|must)\b|(?:all )?(?:previous|prior|earlier|safety)\b"
    r"|new (?:instruction|directive|rule|task|order)|override\b|obey\b|comply\b|grant\b|reveal\b|elevate|unlock"
    r"|(?:execute|delete|erase|wipe|exfiltrate|send|run|call|invoke) (?:the|all|every|this|these|memory_|rm\b|curl\b|bash\b|tool))"
)
_KEYS = r"~/\.(?:ssh|aws|gnupg|netrc|config/gh)\b|\bid_(?:rsa|ed25519|ecdsa)\b(?!\.pub)|\.aws/credentials|/etc/(?:shadow|passwd)\b|\.netrc\b|\.env\b(?!\.)"
_TOOLS = (
    r"(?:bash|shell|sh|exec|execute|run|terminal|computer|python|powershell|run_?(?:command|shell|terminal|in_terminal)|execute_?(?:command|code|bash|shell)"
    r"|memory_\w{1,30}|delete_?\w{1,30}|remove_?\w{1,30}|send_?\w{1,30}|write_?file|read_?file|edit_?file|http_?(?:request|get|post)|web_?fetch|fetch|browser\w{0,20}|str_replace\w{0,30})"
)
_NAMED = r"[\"'] ?: ?[\"'](?:functions?\.)?"
_LEAKING = r"(?:data|leak\w{0,8}|exfil\w{0,8}|secrets?|stolen|steal|dump|conversation|history|prompt|memor(?:y|ies)|payload|cookies?|chat|context)"
_HOLE = r"(?:\{|\$|%7b|<|\[|(?:your|the)[_-])"
_AI = r"(?:ai|llm|language model|chatbot|claude|chatgpt|gpt|copilot|gemini)"
_RANK = r"(?:root|admin|administrator|superuser|sysadmin|god|sudo|developer|unrestricted|elevated|jailbroken|dan)"

QUOTATION = (
    Sign(
        ("end of,end_of,end the,begin,start of",),
        r"(?:[-=*#<>~]{2,99}|\[|<)[ /]{0,2}(?:end[ _]of|end) (?:the )?(?:recalled |retrieved |untrusted |user |stored |system |tool )?"
        r"(?:memor(?:y|ies)|context|input|untrusted|retrieved|recalled|system prompt|prompt|instructions|conversation|(?:tool|search) (?:output|result)s?|quotation|data)\b"
        r" ?(?:block |section )?(?:[-=*#<>~]{2,99}|\]|>)",
    ),
    Sign(
        ("end of memor,end of the memor,end of recalled,end of untrusted,end of retrieved",),
        rf"{_LINE}\W{{0,6}}end of (?:the )?(?:recalled |retrieved |untrusted )?(?:memor(?:y|ies)|context|data)\b",
    ),
    Sign(
        ("<|,<｜",),
        r"(?<![`'\"(])<[|｜] ?[a-z][\w▁ -]{1,40}[|｜]>|<[|｜] ?(?:end[▁_]of[▁_]\w{1,20}|begin[▁_]of[▁_]\w{1,20}|tool\w{0,20}|channel|message|endofprompt|im_sep|eom_id|python_tag"
        r"|user|assistant|system|developer) ?[|｜]>",
    ),
    Sign(("inst],sys]",), r"(?<![\w`])\[/?(?:sys|system_prompt|available_tools|tool_calls?|tool_results?)\]"),
    Sign(
        ("tool_call,tool_result,available_tools,system_prompt]",),
        r"(?<![\w`])\[/?(?:system_prompt|available_tools|tool_calls?|tool_results?)\]|\btool_code\n",
    ),
    Sign(
        ("### instruction,### response",),
        rf"{_LINE}### ?instructions? ?:?\n[^\n]{{0,400}}\n(?:[^\n]{{0,400}}\n){{0,3}}?### ?response",
    ),
    Sign(
        ("human:,human :", "assistant:,assistant :"), r"\bhuman ?: ?(?!and\b|or\b|/|,)\w[^\n]{0,400}\bassistant ?: ?\w"
    ),
    Sign(
        ("assistant:,assistant :", "human:,human :"), r"\bassistant ?: ?(?!and\b|or\b|/|,)\w[^\n]{0,400}\bhuman ?: ?\w"
    ),
    Sign(
        ("assistant:,assistant :,ai:,model:,claude:,bot:",),
        rf"(?:{_LINE}|\\n|\. )\W{{0,5}}(?:assistant|ai|model|claude|bot) ?: ?(?:\w{{1,12}}[,.!] )?(?:i(?:'ll| will| am going to| have)|i'm) (?:now |already |gladly )?"
        r"(?:delet|eras|run|execut|send|sent|call|upload|disabl|ignor|obey|comply|forward|exfil|wip|remov)",
    ),
    Sign(
        (
            "system,developer,admin,root,operator,assistant",
            ":,],>",
            "you,ignor,disregard,forget,from now,user,assist,human,operat,previous,prior,earlier,safety,new ,overrid,obey,comply,grant,reveal,elevat,unlock,execut,delet,eras,wipe,exfil,send,run,call,invok",
        ),
        rf"(?:{_LINE}|\\n|[.!?] )[^\w\n]{{0,6}}(?:system|developer|admin(?:istrator)?|root|operator|assistant)(?: (?:message|prompt|note|notice|update|alert|command|instruction|directive))?s?"
        rf"[\])*>]{{0,3}} ?[:>\]-][\s*\]]{{0,3}}(?:\w{{1,12}}[,!] )?{_HARM}",
    ),
    Sign(
        ("[system],(system),[admin],[developer],[root],<system>",),
        r"(?:\[(?:system|admin|developer|root)\]|<system>|\(system\)) ?:? ?" + _HARM,
    ),
    Sign(
        ("role", "system,developer", "content", "you,ignor,overrid,obey,disregard,no longer"),
        r"[\"']?role[\"']? ?: ?[\"']?(?:system|developer)[\"']?,? ?[\"']?content[\"']? ?: ?[\"']?[^\"\n]{0,120}?"
        r"\b(?:ignore|disregard|override|obey|no longer|you are now|you must|you have (?:root|full|admin))\b",
    ),
)

TOOLS = (
    Sign(
        (
            "tool,function,action,command,recipient_name",
            "{",
            "bash,shell,exec,run,terminal,computer,python,sh,memory_,delete,remove,send,write,read,edit,http,fetch,browser,replace",
        ),
        rf"\{{ ?[\"'](?:tool|tool_?name|tool_?call|tool_?use|function|function_?call|recipient_name|action){_NAMED}{_TOOLS}[\"']",
    ),
    Sign(
        ("tool,function,action,\"name,'name", "arg,input,param,kwargs"),
        r"\{ ?[\"'](?:tool|tool_?name|function|action|name)[\"'] ?: ?[\"'][\w.-]{1,60}[\"'] ?, ?[\"'](?:arguments|args|action_?input|tool_?input|kwargs)[\"'] ?: ?[\"{\[]"
        r"|\{ ?[\"'](?:tool|tool_?name|function)[\"'] ?: ?[\"'][\w.-]{1,60}[\"'] ?, ?[\"'](?:input|parameters|params|command|cmd)[\"'] ?: ?[\"{\[]",
    ),
    Sign(
        ("tool_call,function_call,tool_use", "{"),
        r"\{ ?[\"'](?:tool_calls?|function_call|tool_use)[\"'] ?: ?[\[{]"
        r"|[\"']type[\"'] ?: ?[\"'](?:tool_use|tool_call|function_call)[\"'][^\n]{0,200}[\"'](?:input|arguments)[\"'] ?: ?[\"{]",
    ),
    Sign(
        ("<function,<tool,<bash,<shell,<execute,<terminal,<run,<use_mcp,<command,<invoke,<parameter",),
        r"<(?:function|tool|invoke|parameter)(?: name)? ?= ?[\"']?\w|<(?:execute_command|run_command|use_mcp_tool|tool_name|execute_bash|function_call)>"
        r"|<(bash|shell|execute|terminal|run|command|tool)>[^<\n]{1,200}</",
    ),
    Sign(("action input", "action:,action :"), rf"{_LINE}action ?: ?[^\n]{{1,80}}\naction input ?:"),
    Sign(("to=function,to=bash,to=tool",), r"\bto=(?:functions?|tools?)\.\w|\bto=(?:bash|python|browser)\b"),
    Sign(
        ("memory_",),
        r"(?:\byou (?:must|should|need to|have to|shall|will|are to)\b|\bmust\b|\balways\b|\bimmediately\b|\bnow\b|\bfirst\b|\bsilently\b|\bplease\b)(?: (?:\w{1,12} )){0,3}? ?"
        r"(?:call|invoke|use|run|execute|trigger) (?:the )?(?:tool )?[`'\"]?memory_(?:delete|purge|forget|trash|cleanup|clear|remove|wipe)"
        rf"|{_START}(?:call|invoke|run|execute|trigger) (?:the )?(?:tool )?[`'\"]?memory_(?:delete|purge|forget|trash|cleanup|clear|remove|wipe)\w{{0,20}}[`'\"]? ?(?:\(|(?:on|for|with) (?:all|every|each|everything|id))",
    ),
    Sign(
        ("memor",),
        rf"(?:{_START}|\b(?:must|please|should|immediately|always|first) )(?:delete|erase|purge|wipe|forget|remove|destroy) (?:all|every|each)(?: of)?(?: (?:the|your|other|these|stored|existing|previous|saved|user)){{0,3}} memor(?:y|ies)\b(?! (?:of (?!the user|your)|from|in|that|older|leak|dump))",
    ),
    Sign(
        ("you must,you should,you have to,you need to,you shall,you will", "tool,function"),
        r"\byou (?:must|should|have to|need to|shall|will)(?: (?:now|always|first|immediately|then|also|only)){0,2} (?:call|invoke|use|run|execute) "
        r"(?:(?:the|your) )?[`'\"]?(?:bash|shell|terminal|exec\w{0,10}|browser|e-?mail|send_\w{1,20}|delete_\w{1,20}|http\w{0,10}|web_?fetch|code execution|file)[`'\"]? (?:tool|function)\b",
    ),
    Sign(
        ("tool,bash,shell,terminal", "rm -,curl,wget,.ssh,/etc/,exfil,.env,.aws,delete all,secret,credential"),
        r"\b(?:use|call|invoke|open) (?:the |your )?(?:bash|shell|terminal|file|web|browser|e-?mail|http|read)\w{0,12} (?:tool )?(?:to|and|with) [^\n]{0,60}"
        r"(?:rm -|curl |wget |\.ssh|/etc/(?:passwd|shadow)|exfil|\.env\b|\.aws|delete all|secrets|credentials)",
    ),
    Sign(
        (
            "send,upload,post,exfil,mail,transmit,forward,paste,include,leak,curl,wget",
            ".ssh,id_rsa,id_ed25519,id_ecdsa,.aws,/etc/,.netrc,.env,.gnupg",
        ),
        rf"\b(?:send|upload|post|exfiltrate|e-?mail|transmit|forward|leak|paste|include)\b[^\n]{{0,60}}(?:{_KEYS})[^\n]{{0,80}}(?:https?://|\bto (?:me|us|this|the (?:following|attacker))\b|[\w.+-]{{1,40}}@|\b(?:in|into|with) (?:your|the|every|each) (?:answer|reply|response|message|comment|issue|commit))"
        rf"|\b(?:curl|wget|nc)\b[^\n]{{0,100}}(?:@|< ?|\$\(cat |`cat )(?:[\w/$.~-]{{0,30}})(?:{_KEYS})|(?:{_KEYS})[^\n]{{0,20}}\| ?(?:base64[^\n|]{{0,10}}\| ?)?(?:curl|nc|wget)\b",
    ),
    Sign(
        (
            "include,append,embed,put ,output,attach",
            "answer,reply,response,url,link,image",
            "key,prompt,credential,password,secret,conversation,history,memor",
        ),
        r"(?<!not )(?<!never )(?<!n't )\b(?:include|append|embed|put|attach|output) (?:\w{1,12} ){0,4}(?:api keys?|system prompt|credentials|passwords|secrets|conversation|chat history|memories)(?: \w{1,12}){0,3} "
        r"(?:in|to|into) (?:your|every|each) (?:\w{1,12} )?(?:answer|reply|response|message|url|link|image)",
    ),
    Sign(
        ("](http,<img,src=",),
        rf"!\[[^\]\n]{{0,80}}\]\(https?://[^)\s]{{1,200}}(?:[?&]{_LEAKING}=|[?&][\w-]{{1,30}}={_HOLE}|/(?:\{{|\$\{{|%7b))"
        rf"|\]\(https?://[^)\s]{{1,200}}[?&][\w-]{{1,30}}=(?:\{{|\$|%7b|<|\[){{1,3}} ?(?:{_LEAKING}|api_?key|token|key|password|credentials?|env|system|user|all)"
        rf"|<img\b[^>\n]{{0,80}}\bsrc ?= ?[\"']?https?://[^>\s]{{1,200}}[?&](?:{_LEAKING}=|[\w-]{{1,30}}={_HOLE})|<img\b[^>\n]{{0,80}}\bonerror ?=",
    ),
    Sign(
        (
            "render,display,show,load,fetch,visit,open,insert",
            "image,link,url,http",
            "{,secret,conversation,base64,encoded,history,prompt,append",
        ),
        r"\b(?:render|display|show|load|fetch|visit|open|insert) (?:\w{1,12} ){0,4}(?:image|link|url|page|pixel|https?://)[^\n]{0,120}"
        r"(?:(?:append|add|with|contain|follow|includ|plus|replac|encod)\w{0,5}[^\n]{0,40}\b(?:conversation|chat history|secrets?|api keys?|system prompt|user's (?:data|memories|messages?)|memories)\b)",
    ),
    Sign(
        ("base64,decode,rot13,hex", "run,execut,follow,obey,do ,perform,eval,sh,carry"),
        r"\bdecode (?:and|then) (?:execute|follow|obey|eval|run (?:it|this|the)|do what)|\bdecode (?:this|the following|it|the text|these)[^.\n]{0,80}\b(?:and|then) (?:then )?(?:run|execute|follow|obey|do|perform|eval|carry)\b"
        r"|\bbase64 (?:-d|-di|--decode)\b[^\n|]{0,60}\| ?(?:sudo )?(?:ba|z|da)?sh\b",
    ),
)

RANKS = (
    Sign(
        ("you are now,you're now,you are hereby",),
        rf"(?:{_LINE}|[.!:;\"] ?|\bthat )you(?: are|'re) (?:now|hereby) (?:in )?(?:(?:the|an?|running as|logged in as|acting as|my|operating as) )?{_RANK}(?:$|[.!,:;\n\"]| (?:mode|and (?:can|may|must|will|have)|with (?:full|all|no|un)|access|of this))",
    ),
    Sign(
        ("your new,your real,your true,your only,your actual,your primary,your secret",),
        r"\byour (?:new|real|true|only|actual|primary|secret) (?:role|goal|objective|task|purpose|mission|identity|name|master|owner|directive|persona|instructions?)s? (?:is (?:to\b|an?\b|now\b|the\b|dan\b)|are (?:to|now)\b|: )",
    ),
    Sign(
        ("access,privilege,permission,control,rights,clearance", "you "),
        rf"(?:{_START})you(?: now)? (?:have(?: now)?(?: been (?:granted|given))?|are (?:hereby |now )?(?:granted|given)) (?:full |complete |total )?{_RANK}[ -](?:level )?(?:access|privileges?|permissions?|control|rights|clearance)(?! (?:on|to|in|for|over) )",
    ),
    Sign(
        (" mode",),
        r"\b(?:dan|jailbreak|god|unrestricted|sudo|root|evil|do anything now) mode\b(?: is)?(?: now)? (?:enabled|activated|active|on|unlocked|engaged)\b"
        r"|\b(?:enter|activate|enable|switch (?:in)?to|go into|engage) (?:dan|jailbreak|god|unrestricted|evil|do anything now) mode\b",
    ),
    Sign(
        (
            "safety,ethic,content,guardrail,restriction,limitation",
            "disab,lift,remov,suspend,turned off,no longer,bypass,do not apply",
        ),
        r"\b(?:(?:safety|ethic\w{0,5}|content|moral) (?:filters?|guidelines?|restrictions?|protocols?|polic(?:y|ies)|limits?|rules)|guardrails|your (?:\w{1,12} )?(?:restrictions|limitations|rules|filters)) "
        r"(?:(?:are|is|have been|has been|were) (?:now |hereby )?(?:disabled|lifted|removed|suspended|turned off|void)|no longer apply|do not apply (?:to you|here|any more|anymore))",
    ),
    Sign(
        (
            "act as,role-play,roleplay,role play,behave as,pretend,simulate,imagine you",
            "no restriction,without restriction,without any restriction,no rules,no limits,without limits,unrestricted,no filter,no ethic,evil,no guideline,unfiltered",
        ),
        r"\b(?:act as|role-?play(?: as)?|role play as|behave as|pretend(?: to be| that you are| you are|)|simulate|imagine you(?: are|'re)?)[^.\n]{0,80}"
        r"\b(?:(?:no|without(?: any)?) (?:\w{1,12} )?(?:restrictions?|rules|limits|filters?|ethics|guidelines|limitations)|unrestricted|unfiltered|evil)\b",
    ),
    Sign(
        (
            "the user,the human,the operator,the owner,the admin,your owner,your developer",
            "authori,approved,agreed,consent,permission,granted,confirmed",
        ),
        rf"(?:{_START})(?:the|your) (?:user|human|operator|owner|admin(?:istrator)?|developer) (?:has|have) (?:already |fully |pre-?)?"
        r"(?:authori[sz]ed|approved|agreed to|consented to|confirmed|pre-?approved|given (?:you |their |his |her |its )?(?:full |explicit |prior )?(?:permission|consent|approval)|granted you)"
        r"(?:$|[.!,;\n]| (?:this|all|any|every\w{0,5}|these|it|you|to|for (?:this|all|any)|the (?:deletion|following|action|transfer|upload|command|request|purchase|payment))\b)",
    ),
    Sign(
        ("confirmation,permission,approval,consent", "do not,don't,without,no need"),
        r"\b(?:run|delete|execute|call|send|purchase|transfer|wipe|erase|proceed)\b[^.\n]{0,60}[,.;]? (?:and )?(?:do not|don't|no need to|never) (?:ask|wait|request|seek)(?: (?:me|the user|them|anyone))?(?: for)?(?: (?:any|user|further))? (?:confirmation|permission|approval|consent)",
    ),
    Sign(
        ("hide,conceal,keep ,secret,hidden", "user,human,operator,developer"),
        rf"\b(?:hide|conceal) (?:this|it|these|that|your|what|all)\b[^.\n]{{0,40}} from {_USER}\b|\bkeep (?:this|it|these|that)(?: \w{{1,12}}){{0,2}} (?:secret|hidden|concealed|confidential)? ?from {_USER}\b",
    ),
    Sign(
        (
            "the user must not,the user may not,the user should not,the user can not,the user cannot,user must never,user should never,human must not",
        ),
        r"\bthe (?:user|human|operator) (?:must|should|may|can) ?(?:not|never) (?:ever )?(?:know|find out|be (?:told|informed|warned|notified)|notice|learn|suspect)(?: (?:about |of )?(?:this|it|that|these|what|anything)\b|[.!\n]|$)",
    ),
    Sign(
        ("do not,don't,never", "mention,reveal,disclose,acknowledge,repeat"),
        r"\b(?:do not|don't|never) (?:ever )?(?:mention|reveal|disclose|acknowledge|repeat|talk about) (?:this|these|the above)(?: (?:hidden|secret|system))? (?:instructions?|messages?|memor(?:y|ies)|prompt|directive|orders?|to (?:the user|anyone|anybody|the human))\b",
    ),
    Sign(
        (
            "ai,llm,language model,chatbot,claude,gpt,copilot,gemini,assistant",
            "note to,message to,message for,note for,attention,if you are,if you're,dear ,reading this,reads this,processing this,who read,summari",
        ),
        rf"\b(?:note|message|notice|memo|attention|warning|hey|dear)(?: (?:to|for))?:? (?:the |any |all |every )?{_AI}s?(?: (?:agent|assistant|model|system)s?)? ?(?:[:,!]|reading)"
        rf"|\bif you(?: are|'re) (?:an? |the )?{_AI}\b|\b{_AI}s?(?: agents?| assistants?| models?| systems?)? (?:that (?:is |are )?|who (?:is |are )?)?(?:reading|processing|reads?|summari[sz]ing) this\b|\bdear assistant\b",
    ),
    Sign(
        ("<!--",),
        rf"<!--[^>]{{0,80}}?(?:\b(?:{_AI}|assistant|agent)s? ?[:,]|\bsystem ?:|\b(?:hidden |secret )?(?:note|instructions?|message) (?:to|for) (?:the |any |all )?(?:{_AI}|agent|assistant|model)"
        rf"|\byou must (?:now|always|call|run|execute|send|delete|never|not)\b|\bwhen (?:you|an? (?:{_AI}|agent|assistant)) (?:reads?|sees?|process)|\b(?:{_AI}|agents?|assistants?) (?:must|should|shall|will) |\bignore (?:all|any|every|the (?:previous|above)|previous|prior|your)\b)",
    ),
    Sign(
        (
            "you must,you should,you will,you shall,your task",
            "obey,whatever i say,without question,no matter what,refuse,comply",
        ),
        r"\byou (?:must|will|shall|should) (?:now |always |only |never )?(?:obey(?: (?:me|my|only|all|every|this|these|the following|whatever|without)\b|[.!\n]|$)|comply with (?:me|my|all|every|this|these|the following)|refuse (?:all|any|every)|do (?:whatever|anything|exactly what) (?:i|this|the (?:following|attacker)))\b",
    ),
    Sign(
        ("in every,in each,to every,to each,every reply,every response,every answer",),
        rf"(?:{_START})(?:always )?(?:add|append|insert|include|mention|recommend|advertise) [^\n]{{1,80}} (?:in|to|at the end of) (?:every|each|all)(?: of)?(?: your)? (?:answer|reply|response|replies|responses|answers)\b",
    ),
)
