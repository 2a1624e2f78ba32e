*** Settings ***
Documentation       Statements of RFC 8040 and its companions, one case each, against a running controller. The pod of the cases is made
...                 anew before each of them.
Resource            ../resources/coeus.resource
Suite Setup         Start Lab And Session    0
Suite Teardown      Stop Lab
Test Setup          Fresh Pod

*** Variables ***
${DATA}             /rests/data
${UID}              00000000-0000-4000-8000-000000000001
${OTHER}            00000000-0000-4000-8000-000000000002
${POD}              ${DATA}/pod:coe/pods=${UID}
${BODY}             {"pod:pods":[{"uid":"${UID}","name":"web","network-NS":"blue"}]}
${OTHER BODY}       {"pod:pods":[{"uid":"${OTHER}","name":"db"}]}
${JSON}             application/yang-data+json
${XML}              application/yang-data+xml
${PATCH}            application/yang-patch+json
${OPERATIONS}       /rests/operations
${NACM}             ${DATA}/ietf-netconf-acm:nacm
${NETWORKS}         ${DATA}/dhcp_allocation_pool:dhcp_allocation_pool/network

*** Test Cases ***
RFC 6415 3 Host-meta Leads To The Root
    ${answer}=    Exchange    GET    /.well-known/host-meta    200
    Should Contain    ${answer.text}    rel="restconf"
    Should Contain    ${answer.text}    href="/rests"

RFC 8040 2.5 Without Credentials Nothing Is Told
    Create Session    stranger    ${CONTROLLER}
    ${answer}=    GET On Session    stranger    ${POD}    expected_status=401
    Dictionary Should Contain Key    ${answer.headers}    WWW-Authenticate

RFC 8040 3.3 The Root Has Data Operations And The Version
    ${answer}=    Exchange    GET    /rests    200
    Should Contain    ${answer.text}    yang-library-version
    Should Contain    ${answer.text}    "operations"

RFC 8040 3.3.2 Operations Are Listed
    Exchange    GET    /rests/operations    200

RFC 8040 3.3.3 The Library Version Is A Revision
    ${answer}=    Exchange    GET    /rests/yang-library-version    200
    Should Match Regexp    ${answer.text}    20\\d\\d-\\d\\d-\\d\\d

RFC 8040 3.4 The Datastore Is A Resource
    ${answer}=    Exchange    GET    ${DATA}    200
    Should Contain    ${answer.text}    ietf-restconf:data

RFC 8040 3.5.2 A Change Moves The Entity-tag
    ${before}=    Exchange    GET    ${POD}    200
    Exchange    PATCH    ${POD}    204    {"pod:pods":[{"uid":"${UID}","name":"other"}]}
    ${after}=    Exchange    GET    ${POD}    200
    Should Not Be Equal    ${before.headers}[ETag]    ${after.headers}[ETag]

RFC 8040 3.5.3 Two Keys Are Separated By A Comma
    Exchange    PUT    ${DATA}/dhcp_allocation_pool:dhcp_allocation_pool/network\=a%2Cb/allocation-pool\=192.168.10.0%2F24    409
    ...    {"dhcp_allocation_pool:allocation-pool":[{"subnet":"192.168.10.0/24","allocate-from":"192.168.10.3","allocate-to":"192.168.10.9"}]}
    Exchange    POST    ${DATA}/dhcp_allocation_pool:dhcp_allocation_pool    201
    ...    {"dhcp_allocation_pool:network":[{"network-id":"a,b"}]}
    ${answer}=    Exchange    GET    ${DATA}/dhcp_allocation_pool:dhcp_allocation_pool/network\=a%2Cb    200
    Should Be Equal    ${answer.json()}[dhcp_allocation_pool:network][0][network-id]    a,b
    Exchange    DELETE    ${DATA}/dhcp_allocation_pool:dhcp_allocation_pool/network\=a%2Cb    204

RFC 8040 3.5.3 The Wrong Number Of Keys Is 400
    Exchange    GET    ${POD},x    400

RFC 8040 3.5.3 An Unknown Node Is 400
    Exchange    GET    ${DATA}/pod:coe/nothing    400

RFC 8040 4.1 OPTIONS Tells What Is Allowed
    ${answer}=    Exchange    OPTIONS    ${POD}    200
    Should Contain    ${answer.headers}[Allow]    PATCH
    Should Contain    ${answer.headers}[Accept-Patch]    ${PATCH}

RFC 8040 4.2 HEAD Has The Headers And No Body
    ${answer}=    Exchange    HEAD    ${POD}    200
    Should Be Empty    ${answer.text}
    Dictionary Should Contain Key    ${answer.headers}    ETag

RFC 8040 4.3 GET Of An Absent Resource Is 404
    Exchange    GET    ${DATA}/pod:coe/pods\=${OTHER}    404

RFC 8040 4.3 A List Without Keys Is Read As A Whole
    ${answer}=    Exchange    GET    ${DATA}/pod:coe/pods    200
    Length Should Be    ${answer.json()}[pod:pods]    1

RFC 8040 4.4.1 POST Creates And Names The New Resource
    ${answer}=    Exchange    POST    ${DATA}/pod:coe    201    ${OTHER BODY}
    Should End With    ${answer.headers}[Location]    /rests/data/pod:coe/pods=${OTHER}

RFC 8040 4.4.1 POST Of An Existing Resource Is 409
    ${answer}=    Exchange    POST    ${DATA}/pod:coe    409    ${BODY}
    Error Should Be    ${answer}    data-exists

RFC 8040 4.5 PUT Creates With 201
    Exchange    PUT    ${DATA}/pod:coe/pods\=${OTHER}    201    ${OTHER BODY}

RFC 8040 4.5 PUT Replaces With 204
    Exchange    PUT    ${POD}    204    {"pod:pods":[{"uid":"${UID}"}]}
    ${answer}=    Exchange    GET    ${POD}    200
    Dictionary Should Not Contain Key    ${answer.json()}[pod:pods][0]    name

RFC 8040 4.5 The Body's Key Must Be The URI's
    Exchange    PUT    ${POD}    400    ${OTHER BODY}

RFC 8040 4.6.1 Plain PATCH Merges
    Exchange    PATCH    ${POD}    204    {"pod:pods":[{"uid":"${UID}","host-ip-address":"192.0.2.7"}]}
    ${answer}=    Exchange    GET    ${POD}    200
    Should Be Equal    ${answer.json()}[pod:pods][0][name]    web

RFC 8040 4.6.1 Plain PATCH Creates Nothing
    Exchange    PATCH    ${DATA}/pod:coe/pods\=${OTHER}    404    ${OTHER BODY}
    # Nor a leaf of a resource that is there; a container without presence always is (RFC 7950 section 7.5.1).
    ${answer}=    Exchange    PATCH    ${POD}/host-ip-address    404    {"pod:host-ip-address":"192.0.2.9"}
    Error Should Be    ${answer}    data-missing
    Exchange    PUT    ${POD}/host-ip-address    201    {"pod:host-ip-address":"192.0.2.9"}
    Exchange    PATCH    ${POD}/host-ip-address    204    {"pod:host-ip-address":"192.0.2.8"}

RFC 8040 4.7 DELETE Is 204 And Then 404
    Exchange    DELETE    ${POD}    204
    Exchange    DELETE    ${POD}    404

RFC 7950 7.5.1 An Empty Container Is There And Is Not Created
    ${answer}=    Exchange    POST    ${DATA}    409    {"dhcp_allocation_pool:dhcp_allocation_pool":{}}
    Should Contain    ${answer.text}    data-exists
    Exchange    PUT    ${DATA}/dhcp_allocation_pool:dhcp_allocation_pool    204    {"dhcp_allocation_pool:dhcp_allocation_pool":{}}
    Exchange    GET    ${DATA}/dhcp_allocation_pool:dhcp_allocation_pool    404

RFC 8040 4.8 An Unknown Query Parameter Is 400
    Exchange    GET    ${POD}?nothing\=1    400

RFC 8040 4.8 A Query Parameter Given Twice Is 400
    Exchange    GET    ${POD}?depth\=1&depth\=2    400

RFC 8040 4.8.1 Content Chooses Configuration Or State
    ${answer}=    Exchange    GET    ${DATA}/coeus-status:objects?content\=nonconfig    200
    Should Contain    ${answer.text}    "pod-name":"web"
    Exchange    GET    ${DATA}/coeus-status:objects?content\=config    404
    Exchange    GET    ${POD}?content\=some    400

RFC 8040 4.8.2 Depth Limits The Levels
    ${answer}=    Exchange    GET    ${DATA}/pod:coe?depth\=1    200
    Should Not Contain    ${answer.text}    web
    Exchange    GET    ${DATA}/pod:coe?depth\=0    400

RFC 8040 4.8.3 Fields Selects
    ${answer}=    Exchange    GET    ${POD}?fields\=name    200
    Dictionary Should Not Contain Key    ${answer.json()}[pod:pods][0]    network-NS
    Exchange    GET    ${POD}?fields\=nothing    400

RFC 8040 4.8.5 Insert Is For Lists That The User Orders
    Exchange    POST    ${DATA}/pod:coe?insert\=first    400    ${OTHER BODY}

RFC 8040 4.8.9 With-defaults Is Understood
    Exchange    GET    ${POD}?with-defaults\=report-all    200
    Exchange    GET    ${POD}?with-defaults\=nothing    400

RFC 8040 5.2 XML Goes In And Comes Out
    ${body}=    Set Variable
    ...    <pods xmlns="urn:opendaylight:coe:northbound:pod"><uid>${OTHER}</uid><name>xml</name></pods>
    Exchange    PUT    ${DATA}/pod:coe/pods\=${OTHER}    201    ${body}    Content-Type=${XML}
    ${answer}=    Exchange    GET    ${DATA}/pod:coe/pods\=${OTHER}    200    Accept=${XML}
    Should Contain    ${answer.text}    <name>xml</name>
    Should Start With    ${answer.headers}[Content-Type]    ${XML}

RFC 8040 5.2 Another Type Is 415
    Exchange    PUT    ${POD}    415    ${BODY}    Content-Type=text/plain

RFC 8040 5.2 An Answer That Nobody Can Give Is 406
    Exchange    GET    ${POD}    406    Accept=image/png

RFC 8040 5.5 Answers Are Not To Be Cached Without Asking
    ${answer}=    Exchange    GET    ${POD}    200
    Should Contain    ${answer.headers}[Cache-Control]    no-cache

RFC 8040 7.1 Errors Have Type Tag Path And Message
    ${answer}=    Exchange    PUT    ${POD}    400    {"pod:pods":[{"uid":"${UID}","wrong":1}]}
    ${error}=    Set Variable    ${answer.json()}[ietf-restconf:errors][error][0]
    FOR    ${part}    IN    error-type    error-tag    error-message
        Dictionary Should Contain Key    ${error}    ${part}
    END

RFC 8040 7 A Method That Is Not Allowed Is 405
    ${answer}=    Exchange    DELETE    ${DATA}    405
    Dictionary Should Contain Key    ${answer.headers}    Allow

RFC 8040 8 State Data Cannot Be Written
    Exchange    PUT    ${DATA}/coeus-status:objects    405    {"coeus-status:objects":{}}

RFC 9110 13.1.1 If-Match Writes Only Over What Was Read
    ${answer}=    Exchange    GET    ${POD}    200
    ${tag}=    Set Variable    ${answer.headers}[ETag]
    Exchange    PUT    ${POD}    204    {"pod:pods":[{"uid":"${UID}","name":"new"}]}    If-Match=${tag}
    ${answer}=    Exchange    PUT    ${POD}    412    ${BODY}    If-Match=${tag}

RFC 9110 13.1.2 If-None-Match Creates And Never Replaces
    Exchange    PUT    ${POD}    412    ${BODY}    If-None-Match=*

RFC 9110 13.1.2 An Unchanged Resource Is 304
    ${answer}=    Exchange    GET    ${POD}    200
    Exchange    GET    ${POD}    304    If-None-Match=${answer.headers}[ETag]

RFC 8072 2.2 A YANG Patch Is Atomic
    ${edits}=    Set Variable
    ...    {"edit-id":"1","operation":"merge","target":"/pods=${UID}","value":{"pod:pods":[{"uid":"${UID}","name":"changed"}]}},{"edit-id":"2","operation":"create","target":"/pods=${UID}","value":${BODY}}
    ${answer}=    Exchange    PATCH    ${DATA}/pod:coe    409
    ...    {"ietf-yang-patch:yang-patch":{"patch-id":"p","edit":[${edits}]}}    Content-Type=${PATCH}
    Should Contain    ${answer.text}    "edit-id":"2"
    ${answer}=    Exchange    GET    ${POD}    200
    Should Be Equal    ${answer.json()}[pod:pods][0][name]    web

RFC 8072 2.3 A YANG Patch Answers With Its Status
    ${edit}=    Set Variable    {"edit-id":"1","operation":"remove","target":"/pods=${UID}"}
    ${answer}=    Exchange    PATCH    ${DATA}/pod:coe    200
    ...    {"ietf-yang-patch:yang-patch":{"patch-id":"p","edit":[${edit}]}}    Content-Type=${PATCH}
    Should Contain    ${answer.text}    yang-patch-status
    Exchange    GET    ${POD}    404

RFC 8527 3.1 Each Datastore Is A Resource
    Exchange    GET    /rests/ds/ietf-datastores:running/pod:coe    200
    Exchange    GET    /rests/ds/ietf-datastores:operational/coeus-status:objects    200
    Exchange    PUT    /rests/ds/ietf-datastores:operational/pod:coe    405    {"pod:coe":{}}

RFC 8527 3.1 The Candidate Gathers Edits Until They Are Committed
    ${candidate}=    Set Variable    /rests/ds/ietf-datastores:candidate/pod:coe
    Exchange    PUT    ${candidate}/pods\=${OTHER}    201    ${OTHER BODY}
    Exchange    DELETE    ${candidate}/pods\=${UID}    204
    Exchange    GET    ${POD}    200
    Exchange    GET    ${DATA}/pod:coe/pods\=${OTHER}    404
    ${diff}=    Exchange    POST    /rests/operations/coeus-history:diff-candidate    200
    Should Be Equal As Integers    ${diff.json()}[coeus-history:output][edits]    2
    Exchange    POST    /rests/operations/coeus-history:validate-candidate    204
    Exchange    POST    /rests/operations/coeus-history:commit-candidate    200
    Exchange    GET    ${POD}    404
    Exchange    GET    ${DATA}/pod:coe/pods\=${OTHER}    200

RFC 8342 5.1.2 A Discarded Candidate Changes Nothing
    Exchange    DELETE    /rests/ds/ietf-datastores:candidate/pod:coe/pods\=${UID}    204
    Exchange    POST    /rests/operations/coeus-history:discard-candidate    200
    Exchange    GET    /rests/ds/ietf-datastores:candidate/pod:coe/pods\=${UID}    200
    Exchange    POST    /rests/operations/coeus-history:commit-candidate    404
    Exchange    GET    ${POD}    200

RFC 8342 5.1.2 What Others Commit Meanwhile Is Not Overwritten
    ${named}=    Set Variable    {"pod:pods":[{"uid":"${UID}","name":"mine"}]}
    Exchange    PATCH    /rests/ds/ietf-datastores:candidate/pod:coe/pods\=${UID}    204    ${named}
    Exchange    PATCH    ${POD}    204    {"pod:pods":[{"uid":"${UID}","name":"theirs"}]}
    ${refused}=    Exchange    POST    /rests/operations/coeus-history:commit-candidate    409
    Error Should Be    ${refused}    in-use
    Exchange    POST    /rests/operations/coeus-history:update-candidate    200
    ...    {"coeus-history:input":{"resolution-mode":"overwrite"}}
    ${pod}=    Exchange    GET    /rests/ds/ietf-datastores:candidate/pod:coe/pods\=${UID}    200
    Should Contain    ${pod.text}    theirs
    [Teardown]    Exchange    POST    /rests/operations/coeus-history:discard-candidate    200

RFC 7950 6.4.1 A Condition Chooses Entries
    [Documentation]    draft-ietf-netconf-list-pagination section 3.1.1
    Exchange    POST    ${DATA}/pod:coe    201    ${OTHER BODY}
    ${answer}=    Exchange    GET    ${DATA}/pod:coe/pods?where\=name\='db'    200
    Length Should Be    ${answer.json()}[pod:pods]    1
    Should Be Equal    ${answer.json()}[pod:pods][0][uid]    ${OTHER}
    ${answer}=    Exchange    GET    ${DATA}/pod:coe/pods?where\=name\='nobody'    200
    Should Be Empty    ${answer.json()}[pod:pods]
    ${answer}=    Exchange    GET    ${DATA}/pod:coe/pods?where\=nothing    400
    Error Should Be    ${answer}    invalid-value

List Pagination 3.1.7 A Page Says What Is Behind It
    Exchange    POST    ${DATA}/pod:coe    201    ${OTHER BODY}
    ${answer}=    Exchange    GET    ${DATA}/pod:coe/pods?limit\=1&sort-by\=name    200
    Should Be Equal    ${answer.json()}[pod:pods][0][name]    db
    Should Be Equal As Integers    ${answer.json()}[pod:pods][0][@][ietf-list-pagination:remaining]    1
    Should Contain    ${answer.headers}[Link]    rel="next"
    Exchange    GET    ${DATA}/pod:coe/pods?offset\=3    416
    Exchange    GET    ${DATA}/pod:coe/pods?cursor\=${UID}x    404

List Pagination RC 2.2 A List Is One XML Document
    Exchange    POST    ${DATA}/pod:coe    201    ${OTHER BODY}
    Exchange    GET    ${DATA}/pod:coe/pods    400    Accept=${XML}
    ${answer}=    Exchange    GET    ${DATA}/pod:coe/pods    200    Accept=${XML}-list
    Should Start With    ${answer.text}    <xml-list

RFC 8040 3.4.1.2 Times Are Conditions As Well
    ${now}=    Exchange    GET    ${POD}    200
    Exchange    GET    ${POD}    304    If-Modified-Since=${now.headers}[Last-Modified]
    Exchange    DELETE    ${POD}    412    If-Unmodified-Since=Mon, 01 Jan 2001 00:00:00 GMT
    Exchange    GET    ${POD}    200

RFC 8040 3.5.3 Every Character May Stand In A Key
    FOR    ${key}    IN    a,b    a/b    a=b    a b    ü    a'b    %    [x]    ;    ?    \#
        ${written}=    Evaluate    urllib.parse.quote($key, safe="")    modules=urllib
        ${body}=    Evaluate    json.dumps({"dhcp_allocation_pool:network": [{"network-id": $key}]})    modules=json
        Exchange    PUT    ${NETWORKS}\=${written}    201    ${body}
        ${answer}=    Exchange    GET    ${NETWORKS}\=${written}    200
        Should Be Equal    ${answer.json()}[dhcp_allocation_pool:network][0][network-id]    ${key}
        Exchange    DELETE    ${NETWORKS}\=${written}    204
    END

RFC 8040 3.5.3 A Value Of A Leaf-list Is A Resource
    ${interface}=    Set Variable    ${POD}/interface\=${UID}
    Exchange    POST    ${POD}    201    {"pod:interface":[{"uid":"${UID}","coeus-pod:secondary-ip-address":["10.0.0.7","10.0.0.8"]}]}
    ${answer}=    Exchange    GET    ${interface}/coeus-pod:secondary-ip-address\=10.0.0.8    200
    Should Be Equal    ${answer.json()}[coeus-pod:secondary-ip-address]    ${{["10.0.0.8"]}}
    Exchange    DELETE    ${interface}/coeus-pod:secondary-ip-address\=10.0.0.8    204
    Exchange    GET    ${interface}/coeus-pod:secondary-ip-address\=10.0.0.8    404
    Exchange    GET    ${interface}/coeus-pod:secondary-ip-address    200

RFC 8040 3.6 An Operation Is Invoked By POST
    ${answer}=    Exchange    POST    ${OPERATIONS}/coeus-history:list-revisions    200    {"coeus-history:input":{"limit":1}}
    Should Contain    ${answer.text}    coeus-history:output
    Exchange    GET    ${OPERATIONS}/coeus-history:list-revisions    405

RFC 8040 3.6 The Input Of An Operation Is Checked
    ${answer}=    Exchange    POST    ${OPERATIONS}/coeus-history:rollback    400    {"coeus-history:input":{}}
    Error Should Be    ${answer}    missing-element
    ${answer}=    Exchange    POST    ${OPERATIONS}/coeus-history:rollback    400    {"coeus-history:input":{"nothing":1}}
    Error Should Be    ${answer}    unknown-element

RFC 8040 3.7 The Text Of Each Module Of The Library Is There
    ${answer}=    Exchange    GET    ${DATA}/ietf-yang-library:yang-library    200
    ${new}=    Evaluate    {m["name"]: m["location"][0] for s in $answer.json()["ietf-yang-library:yang-library"]["module-set"] for m in s["module"] + s.get("import-only-module", [])}
    ${answer}=    Exchange    GET    ${DATA}/ietf-yang-library:modules-state    200
    ${old}=    Evaluate    {m["name"]: m["schema"] for m in $answer.json()["ietf-yang-library:modules-state"]["module"]}
    Should Not Be Empty    ${new}
    Should Be Equal    ${new}    ${old}
    FOR    ${name}    ${location}    IN    &{new}
        ${url}=    Evaluate    urllib.parse.urlsplit($location)    modules=urllib.parse
        Should Be Equal    ${url.scheme}://${url.netloc}    ${{urllib.parse.urljoin($answer.url, "/").rstrip("/")}}
        ${answer}=    Exchange    GET    ${url.path}    200
        Should Contain    ${answer.text}    module ${name}
        Should Be Equal    ${answer.headers}[Content-Type]    application/yang
    END

RFC 8040 4.1 OPTIONS Knows The Kind Of Resource
    ${answer}=    Exchange    OPTIONS    ${POD}/name    200
    Should Be Equal    ${answer.headers}[Allow]    GET, HEAD, OPTIONS, PUT, PATCH, DELETE
    ${answer}=    Exchange    OPTIONS    ${DATA}/coeus-status:objects    200
    Should Be Equal    ${answer.headers}[Allow]    GET, HEAD, OPTIONS

RFC 8040 4.4.1 POST Creates One Resource
    Exchange    POST    ${DATA}/pod:coe    400    {"pod:pods":[{"uid":"${OTHER}","name":"a"},{"uid":"${OTHER}","name":"b"}]}
    Exchange    GET    ${DATA}/pod:coe/pods\=${OTHER}    404

RFC 8040 4.5 Nobody Deletes All Unseen
    Exchange    PUT    ${DATA}    428    {"ietf-restconf:data":{}}
    Exchange    GET    ${POD}    200

RFC 8040 4.8.5 And 4.8.6 Entries Go Where Insert And Point Say
    [Teardown]    Exchange    DELETE    ${NACM}    204
    Exchange    PUT    ${NACM}    201    {"ietf-netconf-acm:nacm":{"rule-list":[{"name":"b"},{"name":"d"}]}}
    Exchange    POST    ${NACM}?insert\=first    201    {"ietf-netconf-acm:rule-list":[{"name":"a"}]}
    Exchange    POST    ${NACM}?insert\=last    201    {"ietf-netconf-acm:rule-list":[{"name":"e"}]}
    Exchange    POST    ${NACM}?insert\=after&point\=/ietf-netconf-acm:nacm/rule-list%3Db    201    {"ietf-netconf-acm:rule-list":[{"name":"c"}]}
    Rules Should Be    a    b    c    d    e
    Exchange    PUT    ${NACM}/rule-list\=a?insert\=before&point\=/ietf-netconf-acm:nacm/rule-list%3De    204    {"ietf-netconf-acm:rule-list":[{"name":"a"}]}
    Rules Should Be    b    c    d    a    e
    Exchange    POST    ${NACM}?point\=/ietf-netconf-acm:nacm/rule-list%3Db    400    {"ietf-netconf-acm:rule-list":[{"name":"z"}]}
    Exchange    POST    ${NACM}?insert\=before&point\=/ietf-netconf-acm:nacm/rule-list%3Dz    400    {"ietf-netconf-acm:rule-list":[{"name":"y"}]}
    Rules Should Be    b    c    d    a    e

RFC 6243 3 Each Mode Shows Its Defaults
    [Teardown]    Exchange    DELETE    ${NACM}    204
    Exchange    PUT    ${NACM}    201    {"ietf-netconf-acm:nacm":{"read-default":"permit","exec-default":"deny"}}
    # What is a default and was set; what was not set.
    Defaults Should Be Shown    explicit    permit    ${None}
    Defaults Should Be Shown    trim    ${None}    ${None}
    Defaults Should Be Shown    report-all    permit    deny
    ${answer}=    Exchange    GET    ${NACM}?content\=config&with-defaults\=report-all-tagged    200
    ${tags}=    Evaluate    [name for name in $answer.json()["ietf-netconf-acm:nacm"] if name.startswith("@")]
    List Should Contain Value    ${tags}    @write-default
    List Should Not Contain Value    ${tags}    @read-default

RFC 8040 9.1 Capabilities Are Told
    ${answer}=    Exchange    GET    ${DATA}/ietf-restconf-monitoring:restconf-state/capabilities    200
    FOR    ${name}    IN    depth    fields    filter    replay    with-defaults    with-origin    with-operational-defaults    yang-patch
        Should Contain    ${answer.text}    urn:ietf:params:restconf:capability:${name}:1.0
    END
    Should Contain    ${answer.text}    urn:ietf:params:restconf:capability:defaults:1.0?basic-mode=explicit

RFC 8527 3.2.2 With-origin Says Where Data Come From
    ${answer}=    Exchange    GET    /rests/ds/ietf-datastores:operational/pod:coe?with-origin    200
    Should Contain    ${answer.text}    "ietf-origin:origin":"ietf-origin:intended"
    Exchange    GET    /rests/ds/ietf-datastores:running/pod:coe?with-origin    400

RFC 8072 2.5 Every Operation Of A YANG Patch Acts
    [Teardown]    DELETE On Session    coeus    ${NACM}    expected_status=any
    Patch Rules    200    create    a
    Patch Rules    409    create    a
    Patch Rules    200    replace    b
    Patch Rules    200    merge    c
    Patch Rules    200    insert    d    where=first
    Patch Rules    200    move    c    where=before    point=/rule-list\=a
    Rules Should Be    d    c    a    b
    Patch Rules    200    delete    d
    Patch Rules    404    delete    d
    Patch Rules    200    remove    d
    Rules Should Be    c    a    b

RFC 8072 2.5 An Edit-id Is Given Once
    ${edit}=    Set Variable    {"edit-id":"1","operation":"remove","target":"/pod:coe/pods=${UID}"}
    Exchange    PATCH    ${DATA}    400    {"ietf-yang-patch:yang-patch":{"patch-id":"p","edit":[${edit},${edit}]}}    Content-Type=${PATCH}
    Exchange    GET    ${POD}    200

RFC 7951 4 Names Of Other Modules Are Qualified
    Exchange    PUT    ${POD}    400    {"pods":[{"uid":"${UID}"}]}

RFC 7950 9 Values Are Checked
    Exchange    PATCH    ${POD}    400    {"pod:pods":[{"uid":"${UID}","host-ip-address":"999.1.1.1"}]}

*** Keywords ***
Fresh Pod
    DELETE On Session    coeus    ${DATA}/pod:coe    expected_status=any
    Exchange    PUT    ${POD}    201    ${BODY}

Exchange
    [Documentation]    One request and its status; named arguments are headers.
    [Arguments]    ${method}    ${path}    ${status}    ${body}=${EMPTY}    &{headers}
    ${has body}=    Evaluate    len($body) > 0
    IF    ${has body} and "Content-Type" not in $headers
        Set To Dictionary    ${headers}    Content-Type=${JSON}
    END
    ${answer}=    Run Keyword    ${method} On Session    coeus    ${path}    data=${body}    headers=${headers}    expected_status=${status}
    RETURN    ${answer}

Error Should Be
    [Arguments]    ${answer}    ${tag}
    Should Be Equal    ${answer.json()}[ietf-restconf:errors][error][0][error-tag]    ${tag}

Rules Should Be
    [Documentation]    The names of the rule lists, in the order of the user.
    [Arguments]    @{names}
    ${answer}=    Exchange    GET    ${NACM}/rule-list    200
    ${found}=    Evaluate    [rule["name"] for rule in $answer.json()["ietf-netconf-acm:rule-list"]]
    Should Be Equal    ${found}    ${names}

Patch Rules
    [Documentation]    One edit of a YANG Patch, on a rule list.
    [Arguments]    ${status}    ${operation}    ${name}    &{more}
    ${edit}=    Evaluate    dict($more, **{"edit-id": "1", "operation": $operation, "target": "/rule-list=" + $name})
    IF    $operation in ("create", "replace", "merge", "insert")
        Set To Dictionary    ${edit}    value=${{{"ietf-netconf-acm:rule-list": [{"name": $name}]}}}
    END
    ${body}=    Evaluate    json.dumps({"ietf-yang-patch:yang-patch": {"patch-id": "p", "edit": [dict($edit)]}})    modules=json
    ${answer}=    Exchange    PATCH    ${NACM}    ${status}    ${body}    Content-Type=${PATCH}
    Should Contain    ${answer.text}    yang-patch-status

Defaults Should Be Shown
    [Arguments]    ${mode}    ${read}    ${write}
    ${answer}=    Exchange    GET    ${NACM}?content\=config&with-defaults\=${mode}    200
    ${nacm}=    Set Variable    ${answer.json()}[ietf-netconf-acm:nacm]
    Should Be Equal    ${{$nacm.get("read-default")}}    ${read}
    Should Be Equal    ${{$nacm.get("write-default")}}    ${write}
